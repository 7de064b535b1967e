//! Bound of a text's nesting, by its tokens alone: parser and tree are recursive, and a text decides how deep.

use ruff_python_ast::token::TokenKind;
use ruff_python_parser::{Mode, lexer};

use super::lines::Lines;

/// Brackets that may be open at once: CPython's `MAXLEVEL`.
const MOST_BRACKETS: usize = 200;
/// Blocks that may be open at once: CPython's `MAXINDENT`.
const MOST_INDENTS: usize = 100;
/// Nested brackets, prefixes (`not`, `-`), powers, lambdas and conditional expressions of one logical line. CPython's parser
/// gives up at 6000 levels, of which each takes several.
const MOST_NESTED: usize = 1000;

/// Line of the first token that is nested too deep, from 1; `None` where none is.
pub(super) fn too_deep(text: &str) -> Option<u64> {
    if !is_too_deep(text) {
        return None;
    }
    // The lexer does not say where it is: the shortest beginning that is too deep ends at the line.
    let lines = Lines::from_text(text);
    let last = lines.line(u32::try_from(text.len()).unwrap_or(u32::MAX));
    let (mut good, mut bad) = (0, last);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        let end = lines.end(middle).unwrap_or(text.len());
        if is_too_deep(text.get(..end).unwrap_or(text)) { bad = middle } else { good = middle }
    }
    Some(bad)
}

fn is_too_deep(text: &str) -> bool {
    let mut lexer = lexer::lex(text, Mode::Module);
    let mut nesting = Nesting::default();
    loop {
        match lexer.next_token() {
            TokenKind::EndOfFile => return false,
            kind if nesting.takes(kind) => {}
            _ => return true,
        }
    }
}

/// Nesting of the tokens so far.
#[derive(Default)]
struct Nesting {
    /// Per open bracket, what nests in it: prefixes since its last comma, and lambdas, whose parameters have commas too.
    open: Vec<[usize; 2]>,
    /// The same outside of brackets.
    outside: [usize; 2],
    /// The sum of all these.
    nested: usize,
    indents: usize,
    /// Whether a sign here would be a prefix.
    is_operand_next: bool,
}

impl Nesting {
    /// Takes the next token; false where it nests too deep.
    fn takes(&mut self, kind: TokenKind) -> bool {
        match kind {
            TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace => self.open.push([0, 0]),
            TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace => {
                let closed = self.open.pop().unwrap_or([0, 0]);
                self.nested = self.nested.saturating_sub(closed.iter().sum());
            }
            TokenKind::Comma => self.forget(0),
            TokenKind::Newline => {
                self.forget(0);
                self.forget(1);
            }
            TokenKind::Indent => self.indents += 1,
            TokenKind::Dedent => self.indents = self.indents.saturating_sub(1),
            TokenKind::Plus | TokenKind::Minus if !self.is_operand_next => {}
            TokenKind::Not
            | TokenKind::Tilde
            | TokenKind::Plus
            | TokenKind::Minus
            | TokenKind::DoubleStar
            | TokenKind::Await
            | TokenKind::Else => self.nest(0),
            TokenKind::Lambda => self.nest(1),
            _ => {}
        }
        self.is_operand_next = !matches!(
            kind,
            TokenKind::Name
                | TokenKind::Int
                | TokenKind::Float
                | TokenKind::Complex
                | TokenKind::String
                | TokenKind::FStringEnd
                | TokenKind::TStringEnd
                | TokenKind::Rpar
                | TokenKind::Rsqb
                | TokenKind::Rbrace
                | TokenKind::True
                | TokenKind::False
                | TokenKind::None
                | TokenKind::Ellipsis
        );
        self.open.len() <= MOST_BRACKETS && self.indents <= MOST_INDENTS && self.open.len() + self.nested <= MOST_NESTED
    }

    fn level(&mut self) -> &mut [usize; 2] {
        self.open.last_mut().unwrap_or(&mut self.outside)
    }

    fn nest(&mut self, kind: usize) {
        if let Some(count) = self.level().get_mut(kind) {
            *count += 1;
        }
        self.nested += 1;
    }

    fn forget(&mut self, kind: usize) {
        let count = self.level().get_mut(kind).map_or(0, std::mem::take);
        self.nested = self.nested.saturating_sub(count);
    }
}

#[cfg(test)]
mod tests {
    use super::too_deep;

    #[test]
    fn two_hundred_brackets_are_the_most() {
        let nested = |depth: usize| format!("x = 1\ny = {}{}\n", "(".repeat(depth), ")".repeat(depth));
        assert_eq!(too_deep(&nested(200)), None);
        assert_eq!(too_deep(&nested(201)), Some(2));
    }

    #[test]
    fn long_is_not_deep() {
        for text in
            ["a + ".repeat(50_000) + "a\n", "a - ".repeat(50_000) + "a\n", "x".to_owned() + &".a".repeat(50_000)]
        {
            assert_eq!(too_deep(&text), None);
        }
        assert_eq!(too_deep(&format!("x = [{}]\n", "-1, 2 ** 3, a if b else c, ".repeat(20_000))), None);
    }

    #[test]
    fn chains_that_recurse_are_deep() {
        for chain in ["not ", "-", "~", "a ** ", "lambda: ", "lambda a, b: ", "a if b else "] {
            assert_eq!(too_deep(&format!("x = {}a\n", chain.repeat(5_000))), Some(1), "{chain}");
        }
    }
}
