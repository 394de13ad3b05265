//! Expressions that choose events by their ids and by conditions on their fields.
//!
//! ```text
//! expression = event { ( "|" | "||" ) event }
//! event      = id [ "{" conditions "}" ] | conditions      without an id: any event
//! id         = what `--only` takes; AIX: also hook.subhook, such as 105.1
//! conditions = condition { ( "," | "&&" ) condition }
//! condition  = field operator value
//! operator   = "=" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "~"
//! value      = text | '"' text '"'        in quotes, `\"` is a quote and `\\` a backslash
//! ```
//!
//! If a field and its value are numbers (decimal or `0x`), they are compared as numbers, otherwise as texts. `~` is a
//! regular expression on the text. An expression does not know which fields there are: [`Expression::bind`] looks them
//! up, and [`Bound::test`] asks for their values.

use crate::ids::{EventId, IdSet};
use crate::qnx_report::ids::RecordIds;
use crate::reader::System;
use crate::reader::kev::QnxRelease;
use regex::bytes::Regex;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

/// Largest size of an expression in bytes.
const MAX_TEXT: usize = 1 << 16;

/// Expression that chooses events by ids and by conditions on their fields, as
/// [`EventFilter::conditions`](crate::EventFilter::conditions) has it as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    events: Vec<Pattern>,
}

/// Id and conditions.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pattern {
    /// `None` for any event.
    id: Option<String>,
    conditions: Vec<Condition<String>>,
}

/// Condition on a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition<F> {
    field: F,
    operator: Operator,
    value: Constant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Matches,
}

/// Operators. A longer one comes before its own prefix: `<=` before `<`.
const OPERATORS: [(&str, Operator); 8] = [
    ("!=", Operator::NotEqual),
    ("==", Operator::Equal),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("=", Operator::Equal),
    ("<", Operator::Less),
    (">", Operator::Greater),
    ("~", Operator::Matches),
];

/// Value of a condition.
#[derive(Debug, Clone)]
struct Constant {
    text: String,
    number: Option<i128>,
    regex: Option<Regex>,
}

impl PartialEq for Constant {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Constant {}

/// Mistake in an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpressionError {
    /// Position of the mistake in characters, from 1.
    pub column: usize,
    /// Description of the mistake.
    pub message: String,
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "position {}: {}", self.column, self.message)
    }
}

impl std::error::Error for ExpressionError {}

/// Value of an event's field, as conditions compare it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operand<'e> {
    /// Number.
    Number(i128),
    /// Text.
    Text(Cow<'e, [u8]>),
}

impl From<u64> for Operand<'_> {
    fn from(number: u64) -> Self {
        Self::Number(number.into())
    }
}

impl<'e> From<&'e [u8]> for Operand<'e> {
    fn from(text: &'e [u8]) -> Self {
        Self::Text(text.into())
    }
}

/// Expression whose ids and fields are looked up.
#[derive(Debug, Clone)]
pub struct Bound<F> {
    patterns: Vec<BoundPattern<F>>,
}

impl<F> Default for Bound<F> {
    fn default() -> Self {
        Self { patterns: Vec::new() }
    }
}

#[derive(Debug, Clone)]
struct BoundPattern<F> {
    ids: Ids,
    conditions: Vec<Condition<F>>,
}

#[derive(Debug, Clone)]
enum Ids {
    Any,
    Hooks(IdSet, Option<u16>),
    Records(RecordIds),
}

/// Result of [`Bound::test`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The expression does not choose the event.
    No,
    /// The expression chooses the event.
    Yes,
    /// The event lacks a field of a condition.
    Missing,
}

impl Expression {
    /// Parses an expression.
    ///
    /// ```
    /// use tfbc::Expression;
    /// assert!(Expression::parse(r#"101{svc="kread",tid>=0x10}|105.1"#).is_ok());
    /// let error = Expression::parse("101{svc}").unwrap_err();
    /// assert_eq!(error.to_string(), "position 8: expected =, !=, <, <=, >, >= or ~ and a value after `svc`");
    /// ```
    ///
    /// # Errors
    /// The position and description of the first mistake.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let mut parser = Parser { text, at: 0 };
        if text.len() > MAX_TEXT {
            return Err(parser.error(format!("an expression has at most {MAX_TEXT} bytes")));
        }
        let mut events = vec![parser.event()?];
        while parser.take("||") || parser.take("|") {
            events.push(parser.event()?);
        }
        if parser.at < text.len() {
            return Err(parser.error(String::from("expected `|` and another event, or the end")));
        }
        Ok(Self { events })
    }

    /// Names of the fields of all conditions.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &str> {
        self.events.iter().flat_map(|event| event.conditions.iter().map(|condition| &condition.field[..]))
    }

    /// Looks up the ids and the fields of the conditions. `release` is the release of a QNX log; its event names depend
    /// on it.
    ///
    /// # Errors
    /// The first id or field that does not exist.
    #[doc(hidden)]
    pub fn bind<F>(
        &self,
        system: System,
        release: Option<QnxRelease>,
        mut field: impl FnMut(&str) -> Result<F, String>,
    ) -> Result<Bound<F>, String> {
        let mut bind = |pattern: &Pattern| {
            let ids = match (&pattern.id, system) {
                (None, _) => Ids::Any,
                (Some(id), System::Aix) => hooks(id)?,
                (Some(id), System::Qnx) => {
                    let mut ids = RecordIds::default();
                    ids.add(id, release)?;
                    Ids::Records(ids)
                }
            };
            let bound = |condition: &Condition<String>| {
                let Condition { field: name, operator, value } = condition;
                Ok(Condition { field: field(name)?, operator: *operator, value: value.clone() })
            };
            Ok(BoundPattern { ids, conditions: pattern.conditions.iter().map(bound).collect::<Result<_, String>>()? })
        };
        Ok(Bound { patterns: self.events.iter().map(&mut bind).collect::<Result<_, String>>()? })
    }
}

/// Hooks that an id means: one for `101` and `0101`, all that start with it for `10`, and a subhook for `105.1`.
fn hooks(id: &str) -> Result<Ids, String> {
    let (hook, subhook) = id.split_once('.').map_or((id, None), |(hook, subhook)| (hook, Some(subhook)));
    let no_hook = |_| format!("`{id}` is not a hook id: expected 2, 3 or 4 hex digits, such as `101` or `105.1`");
    let ids = IdSet::parse(hook).map_err(no_hook)?;
    let Some(text) = subhook else { return Ok(Ids::Hooks(ids, None)) };
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u16::from_str_radix(text, 16).ok().filter(|_| is_hex);
    let number = number.ok_or_else(|| format!("`{text}` is not a subhook: expected 1 to 4 hex digits"))?;
    Ok(Ids::Hooks(ids, Some(number)))
}

impl Ids {
    fn contain(&self, id: EventId, subhook: impl FnOnce() -> Option<u16>) -> bool {
        match (self, id) {
            (Ids::Any, _) => true,
            (Ids::Hooks(ids, wanted), EventId::Hook(id)) => {
                ids.contains(id) && wanted.is_none_or(|wanted| subhook() == Some(wanted))
            }
            (Ids::Records(ids), EventId::Record(class, event)) => ids.contains(class, event),
            _ => false,
        }
    }
}

impl<F> Bound<F> {
    /// True if the expression names events of this id, perhaps with conditions.
    #[inline]
    pub fn names(&self, id: EventId) -> bool {
        self.patterns.iter().any(|pattern| match (&pattern.ids, id) {
            (Ids::Any, _) => true,
            (Ids::Hooks(ids, _), EventId::Hook(id)) => ids.contains(id),
            (Ids::Records(ids), EventId::Record(class, event)) => ids.contains(class, event),
            _ => false,
        })
    }

    /// Tests an event. `subhook` and `value` return the event's subhook and fields; they are called only if needed.
    pub fn test<'e>(
        &self,
        id: EventId,
        subhook: impl Fn() -> Option<u16>,
        mut value: impl FnMut(&F) -> Option<Operand<'e>>,
    ) -> Verdict {
        self.test_by(id, subhook, |condition| value(&condition.field).map(|value| condition.is_met_by(&value)))
    }

    /// Tests an event. `is_met` tests a condition; it returns `None` if the event lacks the field.
    pub fn test_by(
        &self,
        id: EventId,
        subhook: impl Fn() -> Option<u16>,
        mut is_met: impl FnMut(&Condition<F>) -> Option<bool>,
    ) -> Verdict {
        let mut verdict = Verdict::No;
        for pattern in self.patterns.iter().filter(|pattern| pattern.ids.contain(id, &subhook)) {
            let mut met = Verdict::Yes;
            for condition in &pattern.conditions {
                match is_met(condition) {
                    None => met = Verdict::Missing,
                    Some(true) => {}
                    Some(false) => {
                        met = Verdict::No;
                        break;
                    }
                }
            }
            match met {
                Verdict::Yes => return Verdict::Yes,
                Verdict::Missing => verdict = Verdict::Missing,
                Verdict::No => {}
            }
        }
        verdict
    }

    /// Fields of all conditions.
    pub fn fields(&self) -> impl Iterator<Item = &F> {
        self.patterns.iter().flat_map(|pattern| pattern.conditions.iter().map(|condition| &condition.field))
    }
}

impl<F> Condition<F> {
    /// Field that the condition tests.
    pub fn field(&self) -> &F {
        &self.field
    }

    /// Value of the condition as text.
    pub fn text(&self) -> &str {
        &self.value.text
    }

    /// True if a value meets the condition.
    pub fn is_met_by(&self, found: &Operand<'_>) -> bool {
        let Constant { text, number, regex } = &self.value;
        let order = match (found, number) {
            (Operand::Number(found), Some(number)) if regex.is_none() => found.cmp(number),
            (Operand::Number(found), _) => {
                let found = found.to_string();
                if let Some(regex) = regex {
                    return regex.is_match(found.as_bytes());
                }
                found.as_bytes().cmp(text.as_bytes())
            }
            (Operand::Text(found), _) => {
                if let Some(regex) = regex {
                    return regex.is_match(found);
                }
                (**found).cmp(text.as_bytes())
            }
        };
        self.operator.admits(order)
    }

    /// True if a number meets the condition.
    #[inline]
    pub fn is_met_by_number(&self, found: i128) -> bool {
        match &self.value {
            Constant { number: Some(number), regex: None, .. } => self.operator.admits(found.cmp(number)),
            _ => self.is_met_by(&Operand::Number(found)),
        }
    }

    /// True if a float meets the condition.
    pub fn is_met_by_float(&self, found: f64) -> bool {
        match (&self.value.regex, self.value.text.parse::<f64>()) {
            (None, Ok(value)) => match found.partial_cmp(&value) {
                Some(order) => self.operator.admits(order),
                None => self.operator == Operator::NotEqual,
            },
            _ => self.is_met_by(&Operand::Text(Cow::Owned(format!("{found:?}").into_bytes()))),
        }
    }
}

impl Operator {
    /// True if the operator accepts a value that compares to the condition's value in this order.
    fn admits(self, order: Ordering) -> bool {
        match self {
            Operator::Equal => order.is_eq(),
            Operator::NotEqual => order.is_ne(),
            Operator::Less => order.is_lt(),
            Operator::LessOrEqual => order.is_le(),
            Operator::Greater => order.is_gt(),
            Operator::GreaterOrEqual => order.is_ge(),
            Operator::Matches => false,
        }
    }
}

/// Decimal number, or hexadecimal with `0x`; decimal ones may be negative.
fn number(text: &str) -> Option<i128> {
    let is_hex = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    match text.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).ok().filter(|_| is_hex(digits)),
        None => text.parse().ok().filter(|_| !text.starts_with('+')),
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn error(&self, message: String) -> ExpressionError {
        ExpressionError { column: self.text[..self.at].chars().count() + 1, message }
    }

    fn skip_blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// Takes a word, and the blanks around it, if it is next.
    fn take(&mut self, word: &str) -> bool {
        self.skip_blanks();
        let is_next = self.rest().starts_with(word);
        if is_next {
            self.at += word.len();
            self.skip_blanks();
        }
        is_next
    }

    /// Takes everything before one of the letters.
    fn until(&mut self, letters: &[char]) -> &'t str {
        let rest = self.rest();
        let end = rest.find(letters).unwrap_or(rest.len());
        self.at += end;
        rest[..end].trim()
    }

    fn event(&mut self) -> Result<Pattern, ExpressionError> {
        self.skip_blanks();
        let start = self.at;
        let id = self.until(&['|', '{', '}', ',', '=', '!', '<', '>', '~']);
        if id.is_empty() {
            let text = "expected the id of an event, such as `101` or `THREADY`, or a condition, such as `svc=kread`";
            return Err(self.error(String::from(text)));
        }
        if self.rest().starts_with(['=', '!', '<', '>', '~']) {
            self.at = start;
            return Ok(Pattern { id: None, conditions: self.conditions(&[',', '|'])? });
        }
        let mut conditions = Vec::new();
        if self.take("{") {
            conditions = self.conditions(&[',', '}'])?;
            if !self.take("}") {
                return Err(self.error(String::from("expected `,` and another condition, or `}`")));
            }
        }
        Ok(Pattern { id: Some(id.to_owned()), conditions })
    }

    /// Parses conditions; `ends` are the letters that end a value without quotes.
    fn conditions(&mut self, ends: &[char]) -> Result<Vec<Condition<String>>, ExpressionError> {
        let mut conditions = vec![self.condition(ends)?];
        while self.take(",") || self.take("&&") {
            conditions.push(self.condition(ends)?);
        }
        Ok(conditions)
    }

    fn condition(&mut self, ends: &[char]) -> Result<Condition<String>, ExpressionError> {
        self.skip_blanks();
        let field = self.until(&['=', '!', '<', '>', '~', ',', '{', '}', '|', '&']);
        if field.is_empty() {
            return Err(self.error(String::from("expected a condition, such as `svc=kread`")));
        }
        let Some((_, operator)) = OPERATORS.iter().find(|(word, _)| self.take(word)) else {
            return Err(self.error(format!("expected =, !=, <, <=, >, >= or ~ and a value after `{field}`")));
        };
        let start = self.at;
        let (text, is_quoted) = self.value(ends)?;
        let regex = match operator {
            Operator::Matches => Some(Regex::new(&text).map_err(|error| {
                // The engine's message has several lines; the last one is the reason.
                let reason = error.to_string().lines().last().unwrap_or_default().trim_start().to_owned();
                self.at = start;
                self.error(format!("`{text}` is not a regular expression: {reason}"))
            })?),
            _ => None,
        };
        let number = number(&text).filter(|_| !is_quoted);
        Ok(Condition { field: field.to_owned(), operator: *operator, value: Constant { text, number, regex } })
    }

    /// Parses a value; returns it, and true if it is in quotes.
    fn value(&mut self, ends: &[char]) -> Result<(String, bool), ExpressionError> {
        if !self.rest().starts_with('"') {
            let rest = self.rest();
            // One search for all ends: a search for each of them may reach the end of the expression.
            let is_end = |(at, letter): &(usize, char)| ends.contains(letter) || rest[*at..].starts_with("&&");
            let end = rest.char_indices().find(is_end).map_or(rest.len(), |(at, _)| at);
            let value = rest[..end].trim();
            if value.is_empty() {
                return Err(self.error(String::from("expected a value; `\"\"` is the empty text")));
            }
            self.at += end;
            return Ok((value.to_owned(), false));
        }
        let mut value = String::new();
        let mut letters = self.rest().char_indices().skip(1);
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.at += at + 1;
                    return Ok((value, true));
                }
                '\\' => match letters.next() {
                    Some((_, escaped @ ('"' | '\\'))) => value.push(escaped),
                    // Regular expressions use backslashes themselves.
                    Some((_, other)) => value.extend(['\\', other]),
                    None => break,
                },
                _ => value.push(letter),
            }
        }
        Err(self.error(String::from("the value has no closing quote")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(text: &str, id: u16, fields: &[(&str, Operand<'static>)]) -> Verdict {
        let bound = Expression::parse(text).unwrap().bind(System::Aix, None, |name| Ok(name.to_owned())).unwrap();
        let value = |name: &String| fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        bound.test(EventId::Hook(id), || Some(1), value)
    }

    #[test]
    fn ids_are_those_of_only_and_subhooks() {
        for (text, id, expected) in [
            ("101", 0x1010, Verdict::Yes),
            ("101", 0x1011, Verdict::No),
            ("10", 0x1010, Verdict::Yes),
            ("1011", 0x1011, Verdict::Yes),
            ("105.1", 0x1050, Verdict::Yes),
            ("105.2 | 105.01", 0x1050, Verdict::Yes),
            ("105.2", 0x1050, Verdict::No),
        ] {
            assert_eq!(test(text, id, &[]), expected, "{text}");
        }
    }

    #[test]
    fn conditions_compare_numbers_and_texts() {
        let fields = [
            ("tid", Operand::Number(16)),
            ("svc", Operand::from(&b"kread"[..])),
            ("n", Operand::Number(-1)),
            ("x", Operand::from(&b"a,b}"[..])),
        ];
        for (conditions, expected) in [
            ("tid=16", true),
            ("tid=0x10,svc=kread", true),
            ("tid!=0x10", false),
            ("tid<16", false),
            ("tid<=16,tid>=16,tid>9", true),
            ("tid=\"16\"", true),
            ("tid<\"2\"", true),
            ("tid=x", false),
            ("n<0, n = -1", true),
            ("svc~^k.*d$", true),
            ("svc ~ ^read", false),
            ("svc<l,svc>k", true),
            ("svc!=kwrite", true),
            (r#"x="a,b}""#, true),
            (r#"x~"^a,\w}$""#, true),
            (r#"x!="\"""#, true),
            ("tid~^1", true),
        ] {
            let expected = if expected { Verdict::Yes } else { Verdict::No };
            assert_eq!(test(&format!("101{{{conditions}}}"), 0x1010, &fields), expected, "{conditions}");
        }
    }

    #[test]
    fn conditions_without_an_id_are_about_any_event() {
        let fields = [("a", Operand::Number(3)), ("b", Operand::from(&b"x|y"[..]))];
        for (text, expected) in [
            ("a == 3 && a<4", Verdict::Yes),
            ("a=4 || 101{a=3}", Verdict::Yes),
            ("a=4|102|a=3", Verdict::Yes),
            ("101 | a=4", Verdict::Yes),
            ("a=3,a=4", Verdict::No),
            ("b=\"x|y\"", Verdict::Yes),
            ("101{b~x|z&&a=3}", Verdict::Yes),
            ("a=3 && c=1", Verdict::Missing),
        ] {
            assert_eq!(test(text, 0x1010, &fields), expected, "{text}");
        }
    }

    #[test]
    fn floats_are_compared_as_numbers() {
        let condition = |text: &str| Expression::parse(text).unwrap().events[0].conditions[0].clone();
        assert!(condition("f>1.25").is_met_by_float(1.5) && !condition("f>1.25").is_met_by_float(1.25));
        assert!(condition("f=2").is_met_by_float(2.0) && condition("f!=2").is_met_by_float(f64::NAN));
        assert!(!condition("f<2").is_met_by_float(f64::NAN) && condition("f~^1").is_met_by_float(1.5));
    }

    #[test]
    fn an_event_without_a_field_is_told_apart() {
        assert_eq!(test("101{a=1}", 0x1010, &[]), Verdict::Missing);
        assert_eq!(test("101{a=1}|101", 0x1010, &[]), Verdict::Yes);
        assert_eq!(test("101{a=1}", 0x1020, &[]), Verdict::No);
        assert_eq!(test("101{a=1,b=2}", 0x1010, &[("b", Operand::Number(3))]), Verdict::No);
    }

    #[test]
    fn mistakes_have_a_position() {
        for (text, expected) in [
            ("", "position 1: expected the id of an event"),
            ("a=1&&", "position 6: expected a condition"),
            ("a=1,b|101", "position 6: expected =, !=, <"),
            ("101|", "position 5: expected the id"),
            ("101{", "position 5: expected a condition"),
            ("101{}", "position 5: expected a condition"),
            ("101{a", "position 6: expected =, !=, <"),
            ("é{a!1}", "position 4: expected =, !=, <"),
            ("a=", "position 3: expected a value; `\"\"` is the empty text"),
            ("a > ", "position 5: expected a value"),
            ("101{a= ,b=1}", "position 8: expected a value"),
            ("101{a=1", "position 8: expected `,` and another condition"),
            ("101{a=1}x", "position 9: expected `|`"),
            ("101,102", "position 4: expected `|`"),
            ("101{a=\"1}", "position 7: the value has no closing quote"),
            ("101{a~(}", "position 7: `(` is not a regular expression: error: unclosed group"),
        ] {
            let error = Expression::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        let bind =
            |text: &str, system| Expression::parse(text).unwrap().bind(system, None, |_| Ok(())).map(drop).unwrap_err();
        assert!(bind("xyz", System::Aix).contains("`xyz` is not a hook id"));
        assert!(bind("101.x", System::Aix).contains("`x` is not a subhook"));
        assert!(bind("THRUNING", System::Qnx).contains("THRUNING"));
        let unknown = Expression::parse("101{a=1}").unwrap();
        assert_eq!(unknown.bind::<()>(System::Aix, None, |name| Err(format!("no {name}"))).unwrap_err(), "no a");
    }

    #[test]
    fn records_are_named_as_in_filters() {
        let bound = Expression::parse("THREADY|KER_CALL:MSG_SENDV:exit").unwrap();
        let bound = bound.bind(System::Qnx, Some(QnxRelease { major: 6, minor: 4 }), |_| Ok(())).unwrap();
        let test = |class, event| bound.test(EventId::Record(class, event), || None, |()| None);
        assert_eq!((test(4, 2), test(4, 1)), (Verdict::Yes, Verdict::No));
        assert_eq!((test(2, 11), test(2, 128 + 11)), (Verdict::No, Verdict::Yes));
    }
}
