//! A list of the newest checkpoints looks at no others.

use herma_core::VerifyOptions;
use herma_core::engine::NoProgress;

use super::lost_receipts::rot;
use super::project::TestProject;

fn five() -> TestProject {
    let p = TestProject::new();
    for number in 1..=5 {
        p.write("a", number.to_string());
        p.save(&format!("number {number}"));
    }
    p
}

#[test]
fn what_is_not_listed_is_not_read() {
    let p = five();
    let all = p.list();
    rot(&p, &all[3].id);
    let two = p.project().list_newest(2).unwrap();
    assert_eq!(two.checkpoints, all[..2]);
    assert_eq!((two.damaged, two.count), (Vec::new(), 5), "nobody looked");
    let four = p.project().list_newest(4).unwrap();
    let numbers: Vec<_> = four.checkpoints.iter().map(|one| one.number).collect();
    assert_eq!(numbers, [5, 4, 3, 1], "four that can be read");
    assert_eq!(four.damaged.len(), 1);
    assert_eq!(four.damaged[0].number, Some(2));
    assert_eq!(p.project().damaged().unwrap(), four.damaged);
}

#[test]
fn what_is_gone_is_told_whether_or_not_it_would_be_listed() {
    let p = five();
    let all = p.list();
    let packs = p.store().join("objects/pack");
    for entry in std::fs::read_dir(&packs).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "idx") {
            let name = path.to_str().unwrap();
            let listed = p.repository().git(["verify-pack", "-v", name]);
            if listed.text().contains(&all[4].id.to_hex()) {
                std::fs::remove_file(&path).unwrap();
                std::fs::remove_file(path.with_extension("pack")).unwrap();
            }
        }
    }
    let one = p.project().list_newest(1).unwrap();
    assert_eq!(one.checkpoints[0].id, all[0].id);
    assert_eq!(one.damaged, p.project().damaged().unwrap());
    assert_eq!(one.damaged[0].number, Some(1));
}

#[test]
fn refs_that_name_nothing_are_told_unless_the_roll_knows_what_they_named() {
    let p = five();
    let project = p.project().id().to_string();
    let refs = p.store().join("refs/herma").join(&project);
    let all = p.list();
    std::fs::write(refs.join("00000002"), "").unwrap();
    std::fs::write(refs.join("00000001.extra"), "").unwrap();
    std::fs::write(refs.join("00000005.extra"), "").unwrap();
    let names = |most| {
        let listed = p.project().list_newest(most).unwrap();
        let names = listed.damaged.into_iter().map(|one| one.name);
        let leaves = names.map(|name| name.rsplit('/').next().unwrap().to_owned());
        leaves.collect::<Vec<_>>()
    };
    assert_eq!(names(2), ["00000005.extra"]);
    assert_eq!(names(usize::MAX), ["00000001.extra", "00000005.extra"]);
    assert_eq!(p.list()[3].id, all[3].id, "it is listed, and can be restored");
    let verified = p.engine.verify(&VerifyOptions::default(), &NoProgress).unwrap();
    assert_eq!(verified.refs.len(), 3, "and named where damage is looked for");
    let roll = p.store().join("herma/projects").join(&project).join("roll");
    std::fs::remove_file(roll).unwrap();
    assert_eq!(names(2), ["00000002", "00000005.extra"]);
}
