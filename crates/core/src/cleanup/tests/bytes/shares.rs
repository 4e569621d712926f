//! Tests of shares.

use super::*;

#[test]
fn a_piece_is_free_when_the_last_one_that_holds_it_goes() {
    let mut shares = Shares::default();
    let [common, one, two] = [100, 1, 2].map(|bytes| shares.add(bytes));
    let inner = shares.add(10);
    shares.set_parts(common, vec![inner]);
    shares.set_parts(one, vec![common, common]);
    shares.set_parts(two, vec![common, inner]);
    assert_eq!((shares.take_up(one), shares.take_up(two)), (111, 2));
    assert_eq!((shares.let_go(one), shares.take_up(one)), (1, 1));
    assert_eq!((shares.let_go(two), shares.let_go(one)), (2, 111));
}
