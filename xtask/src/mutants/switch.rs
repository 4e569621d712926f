//! Writes mutants into a source file as switches: all of them are in one program, and the environment says which is on.
//!
//! `a == b` becomes `(if crate::mutant_is(17) { a != b } else { a == b })`. What is switched may contain other switches; the
//! mutant itself is written with the original text, since only one is on. So a file is changed by insertions alone. Marks
//! around all of them tell to which mutants an error of the compiler belongs.

use std::collections::HashMap;
use std::ops::Range;

use serde::Deserialize;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, Signature};

/// The environment variable that says which mutant is on.
pub const VARIABLE: &str = "HERMA_MUTANT";

/// The environment variable that names a file to which every mutant that is met is written.
pub const MET: &str = "HERMA_MUTANTS_MET";

/// What the crates of the clone are given.
pub const MUTANT_IS: &str = r#"
#[doc(hidden)]
pub(crate) fn mutant_is(number: usize) -> bool {
    use std::collections::HashSet;
    use std::io::Write;
    use std::sync::{Mutex, OnceLock};
    static CHOSEN: OnceLock<Option<usize>> = OnceLock::new();
    static MET: OnceLock<Option<Mutex<(HashSet<usize>, std::fs::File)>>> = OnceLock::new();
    let open = || {
        let file = std::env::var_os("HERMA_MUTANTS_MET")?;
        let file = std::fs::OpenOptions::new().append(true).open(file).ok()?;
        Some(Mutex::new((HashSet::new(), file)))
    };
    if let Some(met) = MET.get_or_init(open)
        && let Ok(mut met) = met.lock()
        && met.0.insert(number)
    {
        let _ = met.1.write_all(format!("{number}\n").as_bytes());
    }
    let read = || std::env::var("HERMA_MUTANT").ok()?.parse().ok();
    *CHOSEN.get_or_init(read) == Some(number)
}
"#;

/// A mutant, as cargo-mutants lists it.
#[derive(Debug, Clone, Deserialize)]
pub struct Mutant {
    pub name: String,
    pub file: String,
    pub genre: Genre,
    pub replacement: String,
    pub span: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
pub enum Genre {
    FnValue,
    BinaryOperator,
    UnaryOperator,
    MatchArm,
    MatchArmGuard,
    StructField,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Place {
    pub start: Position,
}

/// From 1, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

/// A file with switches in it.
#[derive(Debug, Default)]
pub struct Switched {
    pub text: String,
    /// The mutants that can be switched on.
    pub numbers: Vec<usize>,
    /// The mutants that are not Rust.
    pub unviable: Vec<usize>,
}

/// Writes these mutants of a file, with their numbers, into its text, as far as they can be switched.
pub fn switch(source: &str, mutants: &[(usize, &Mutant)]) -> syn::Result<Switched> {
    let file = syn::parse_file(source)?;
    let mut wanted = HashMap::<_, Vec<_>>::new();
    for &(number, mutant) in mutants {
        wanted.entry((mutant.genre, mutant.span.start)).or_default().push((number, mutant));
    }
    let mut writer = Writer { source, wanted, insertions: Vec::new(), done: Switched::default() };
    writer.visit_file(&file);
    Ok(writer.finish())
}

/// What a place in a text with switches belongs to.
#[derive(Debug, PartialEq, Eq)]
pub enum Owner {
    /// What is there if this mutant is on.
    Mutant(usize),
    /// The choice between these mutants and the original.
    Switch(Vec<usize>),
}

/// To what a place in the text belongs: of all whose marks surround it, the closest.
pub fn owner(text: &str, place: &Range<usize>) -> Option<Owner> {
    let surrounding = |end: usize| {
        let mark = &text[end + 3..end + text[end..].find("*/")?];
        let start = text[..end].rfind(&format!("/*{mark}<*/"))?;
        (start <= place.start && place.end <= end).then_some((end - start, mark))
    };
    let ends = text.match_indices("/*>").filter_map(|(end, _)| surrounding(end));
    let (_, mark) = ends.min_by_key(|(length, _)| *length)?;
    match mark.strip_prefix('=') {
        Some(number) => number.parse().ok().map(Owner::Mutant),
        None => Some(Owner::Switch(mark.split(',').filter_map(|n| n.parse().ok()).collect())),
    }
}

/// Text that is inserted around a range of the source.
struct Insertion {
    around: Range<usize>,
    before: String,
    after: String,
}

struct Writer<'a> {
    source: &'a str,
    wanted: HashMap<(Genre, Position), Vec<(usize, &'a Mutant)>>,
    insertions: Vec<Insertion>,
    done: Switched,
}

impl<'a> Writer<'a> {
    /// The mutants of this kind that start here.
    fn mutants_at(&self, genre: Genre, span: proc_macro2::Span) -> Vec<(usize, &'a Mutant)> {
        let start = span.start();
        let position = Position { line: start.line, column: start.column + 1 };
        self.wanted.get(&(genre, position)).cloned().unwrap_or_default()
    }

    fn text(&self, span: proc_macro2::Span) -> &'a str {
        &self.source[span.byte_range()]
    }

    /// Inserts what is there only for one mutant.
    fn insert(&mut self, around: Range<usize>, number: usize, text: &str) {
        self.done.numbers.push(number);
        let before = format!("{} ", marked(number, text));
        self.insertions.push(Insertion { around, before, after: String::new() });
    }

    /// Makes an expression one that is another one if a mutant is on.
    fn choose(&mut self, label: &str, around: Range<usize>, others: &[(usize, String)]) {
        if others.is_empty() {
            return;
        }
        self.done.numbers.extend(others.iter().map(|other| other.0));
        let mark = others.iter().map(|other| other.0.to_string()).collect::<Vec<_>>().join(",");
        let other = |(number, text): &(usize, String)| {
            format!("if crate::mutant_is({number}) {{ {} }} else ", marked(*number, text))
        };
        let others: String = others.iter().map(other).collect();
        let before = format!("/*{mark}<*/{label}({others}{{ ");
        self.insertions.push(Insertion { around, before, after: format!(" }})/*>{mark}*/") });
    }

    fn replace_body(&mut self, signature: &Signature, block: &Block) {
        let Some(first) = block.stmts.first() else { return };
        // What is returned must be of one type, even where its name is not said.
        let says_type = !self.text(signature.output.span()).contains("impl ");
        let mutants = self.mutants_at(Genre::FnValue, first.span());
        for (number, mutant) in mutants.into_iter().filter(|_| says_type) {
            let start = first.span().byte_range().start;
            let end = block.span().byte_range().end;
            let text =
                format!("if crate::mutant_is({number}) {{ return {}; }}", mutant.replacement);
            self.insert(start..end, number, &text);
        }
    }

    fn finish(mut self) -> Switched {
        // Of what begins at the same place, the outer one is first; of what ends there, the inner one.
        let mut pieces = Vec::new();
        for Insertion { around, before, after } in self.insertions {
            pieces.push((around.start, 1, usize::MAX - around.end, before));
            pieces.push((around.end, 0, usize::MAX - around.start, after));
        }
        pieces.sort_by_key(|piece| (piece.0, piece.1, piece.2));
        let mut copied = 0;
        for (at, _, _, text) in pieces {
            self.done.text += &self.source[copied..at];
            self.done.text += &text;
            copied = at;
        }
        self.done.text += &self.source[copied..];
        self.done
    }
}

fn marked(number: usize, text: &str) -> String {
    format!("/*={number}<*/{text}/*>={number}*/")
}

/// Is this a chain of conditions with a pattern in it? There is no `||` in those.
fn has_pattern(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(chain) if matches!(chain.op, BinOp::And(_)) => {
            has_pattern(&chain.left) || has_pattern(&chain.right)
        }
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Writer<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if function.sig.constness.is_none() {
            self.replace_body(&function.sig, &function.block);
            visit::visit_item_fn(self, function);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if function.sig.constness.is_none() {
            self.replace_body(&function.sig, &function.block);
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.replace_body(&function.sig, block);
            visit::visit_trait_item_fn(self, function);
        }
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        let mutants = self.mutants_at(Genre::BinaryOperator, binary.op.span());
        let is_chain = has_pattern(&binary.left) || has_pattern(&binary.right);
        if is_chain {
            self.done.unviable.extend(mutants.iter().map(|mutant| mutant.0));
        } else {
            let (whole, op) = (binary.span().byte_range(), binary.op.span().byte_range());
            let other = |(number, mutant): &(usize, &Mutant)| {
                let (left, right) =
                    (&self.source[whole.start..op.start], &self.source[op.end..whole.end]);
                (*number, format!("{left}{}{right}", mutant.replacement))
            };
            let others: Vec<_> = mutants.iter().map(other).collect();
            self.choose("", whole, &others);
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        let mutants = self.mutants_at(Genre::UnaryOperator, unary.op.span());
        let other = |(number, _): &(usize, _)| (*number, self.text(unary.expr.span()).to_owned());
        let others: Vec<_> = mutants.iter().map(other).collect();
        self.choose("", unary.span().byte_range(), &others);
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_match(&mut self, choice: &'ast syn::ExprMatch) {
        let is_rest = |arm: &syn::Arm| matches!(arm.pat, syn::Pat::Wild(_)) && arm.guard.is_none();
        let arms = choice.arms.iter().filter(|_| choice.arms.iter().any(is_rest));
        for arm in arms {
            for (number, _) in self.mutants_at(Genre::MatchArm, arm.span()) {
                let end = arm.pat.span().byte_range().end;
                self.insert(end..end, number, &format!(" if !crate::mutant_is({number})"));
            }
        }
        visit::visit_expr_match(self, choice);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if let Some((_, guard)) = &arm.guard {
            let mutants = self.mutants_at(Genre::MatchArmGuard, guard.span());
            let other = |(number, mutant): &(usize, &Mutant)| (*number, mutant.replacement.clone());
            let others: Vec<_> = mutants.iter().map(other).collect();
            self.choose("", guard.span().byte_range(), &others);
        }
        // A pattern is no expression that could be chosen.
        arm.guard.iter().for_each(|(_, guard)| self.visit_expr(guard));
        self.visit_expr(&arm.body);
    }

    fn visit_expr_struct(&mut self, made: &'ast syn::ExprStruct) {
        let Some(rest) = &made.rest else { return visit::visit_expr_struct(self, made) };
        for field in &made.fields {
            let syn::Member::Named(name) = &field.member else { continue };
            let mutants = self.mutants_at(Genre::StructField, field.span());
            let (path, rest) = (self.text(made.path.span()), self.text(rest.span()));
            let other = |(number, _): &(usize, _)| {
                (*number, format!("{{ let rest: {path} = {rest}; rest.{name} }}"))
            };
            let others: Vec<_> = mutants.iter().map(other).collect();
            let label =
                if field.colon_token.is_some() { String::new() } else { format!("{name}: ") };
            self.choose(&label, field.expr.span().byte_range(), &others);
        }
        visit::visit_expr_struct(self, made);
    }

    // Nothing is switched while the compiler runs it.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_item_enum(&mut self, _: &'ast syn::ItemEnum) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mutant that replaces what stands at the first `what`.
    fn mutant(source: &str, genre: Genre, what: &str, replacement: &str) -> Mutant {
        let before = &source[..source.find(what).unwrap()];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        let span = Place { start: Position { line, column } };
        Mutant {
            name: what.into(),
            file: "a.rs".into(),
            genre,
            replacement: replacement.into(),
            span,
        }
    }

    /// The text with these mutants, numbered from 1, without marks.
    fn switched(source: &str, mutants: &[Mutant]) -> String {
        let numbered: Vec<_> = mutants.iter().enumerate().map(|(at, m)| (at + 1, m)).collect();
        let done = switch(source, &numbered).unwrap();
        assert_eq!(done.numbers.len(), mutants.len());
        syn::parse_file(&done.text).unwrap();
        let mut text = done.text.replace("crate::mutant_is", "m");
        while let Some(start) = text.find("/*") {
            let end = start + text[start..].find("*/").unwrap() + 2;
            text.replace_range(start..end, "");
        }
        text
    }

    #[test]
    fn operators_inside_each_other_are_switched_each_for_itself() {
        let source = "fn é() { let x = !a && b == c; }";
        let mutants = [
            mutant(source, Genre::BinaryOperator, "&&", "||"),
            mutant(source, Genre::BinaryOperator, "==", "!="),
            mutant(source, Genre::UnaryOperator, "!a", ""),
        ];
        assert_eq!(
            switched(source, &mutants),
            "fn é() { let x = (if m(1) { !a || b == c } else { (if m(3) { a } else { !a }) && (if m(2) \
             { b != c } else { b == c }) }); }"
        );
    }

    #[test]
    fn one_operator_has_several_mutants() {
        let source = "fn f() { n += 1; }";
        let mutants = ["-=", "*="].map(|new| mutant(source, Genre::BinaryOperator, "+=", new));
        assert_eq!(
            switched(source, &mutants),
            "fn f() { (if m(1) { n -= 1 } else if m(2) { n *= 1 } else { n += 1 }); }"
        );
    }

    #[test]
    fn bodies_return_at_once() {
        let source = "impl A { fn f(&self) -> bool { a || b } }";
        let mutants = [
            mutant(source, Genre::FnValue, "a ||", "true"),
            mutant(source, Genre::FnValue, "a ||", "false"),
            mutant(source, Genre::BinaryOperator, "||", "&&"),
        ];
        assert_eq!(
            switched(source, &mutants),
            "impl A { fn f(&self) -> bool { if m(1) { return true; } if m(2) { return false; } (if m(3) \
             { a && b } else { a || b }) } }"
        );
    }

    #[test]
    fn arms_guards_and_fields_are_switched() {
        let source =
            "fn f() { match x { Some(1) => S { one: 1, two, ..rest() }, n if g(n) => a, _ => b } }";
        let mutants = [
            mutant(source, Genre::MatchArm, "Some", ""),
            mutant(source, Genre::StructField, "one", ""),
            mutant(source, Genre::StructField, "two", ""),
            mutant(source, Genre::MatchArmGuard, "g(n)", "true"),
        ];
        assert_eq!(
            switched(source, &mutants),
            "fn f() { match x { Some(1) if !m(1)  => S { one: (if m(2) { { let rest: S = rest(); rest.one } } \
             else { 1 }), two: (if m(3) { { let rest: S = rest(); rest.two } } else { two }), ..rest() }, \
             n if (if m(4) { true } else { g(n) }) => a, _ => b } }"
        );
    }

    #[test]
    fn what_the_compiler_runs_is_left_and_so_are_bodies_of_unnamed_types() {
        let source =
            "const A: u8 = 1 + 2; const fn f() -> u8 { 3 } fn g() -> impl Iterator { h() }";
        let mutants = [
            mutant(source, Genre::BinaryOperator, "+", "-"),
            mutant(source, Genre::FnValue, "3", "0"),
            mutant(source, Genre::FnValue, "h()", "empty()"),
        ];
        let numbered: Vec<_> = mutants.iter().enumerate().collect();
        let done = switch(source, &numbered).unwrap();
        assert_eq!((done.text.as_str(), done.numbers.len()), (source, 0));
    }

    #[test]
    fn chains_with_patterns_have_no_or() {
        let source = "fn f() { if let Some(a) = b && a == c {} }";
        let and = mutant(source, Genre::BinaryOperator, "&&", "||");
        let done = switch(source, &[(7, &and)]).unwrap();
        assert_eq!((done.text.as_str(), done.unviable), (source, vec![7]));
    }

    #[test]
    fn an_error_belongs_to_the_closest_mutants() {
        let source = "fn f() { let x = a + b == c; }";
        let mutants = [
            mutant(source, Genre::BinaryOperator, "==", "!="),
            mutant(source, Genre::BinaryOperator, "+", "-"),
            mutant(source, Genre::BinaryOperator, "+", "*"),
        ];
        let numbered: Vec<_> = mutants.iter().enumerate().map(|(at, m)| (at + 10, m)).collect();
        let text = switch(source, &numbered).unwrap().text;
        let place = |what: &str| {
            let start = text.rfind(what).unwrap();
            start..start + what.len()
        };
        assert_eq!(owner(&text, &place("!= c")), Some(Owner::Mutant(10)));
        assert_eq!(owner(&text, &place("a * b")), Some(Owner::Mutant(12)));
        assert_eq!(owner(&text, &place("a + b })")), Some(Owner::Switch(vec![11, 12])));
        assert_eq!(owner(&text, &place("fn f")), None);
    }
}
