//! `fields` comments, with which the author of a stanza chooses names and types.

use super::derive::{Deriver, Draft, Texts};
use super::expand::{ExpandedItem, FieldId, StepSpan, is_data_macro};
use super::form::{Form, code_shown};
use super::names;
use crate::codes::{FIELD_ENTRY, SURPLUS_FIELDS};
use crate::ir::{Block, Inst, Node, Value};
use crate::lower::{ResolvedName, UnitLowerer};
use crate::predefined::Predefined;
use tfbc_grammar::trcfmt::ast::{Code, Stanza};
use tfbc_grammar::trcfmt::{CodeWord, code_word};
use tfbc_grammar::{Diagnostic, Span, Spanned};
use tfbc_vm::{EnvValue, FieldKind, Hint, NameRule};

/// Maximum length of a chosen name.
const MAX_NAME: usize = 64;

/// Field that a comment adds: a macro that the template does not print.
pub(super) struct Extra {
    pub id: FieldId,
    pub form: Form,
    pub source: ExtraSource,
}

pub(super) enum ExtraSource {
    Number(Value),
    Text(Block),
}

/// Applies a stanza's comments to its fields, and adds the fields of macros.
pub(super) fn apply<'ast>(
    stanza: &Stanza<'ast>,
    scope: &mut UnitLowerer<'_, 'ast>,
    steps: &[ExpandedItem<'ast>],
    deriver: &mut Deriver<'ast>,
    fields: &mut Vec<FieldId>,
    found: &mut Vec<Diagnostic>,
) -> Vec<Extra> {
    let mut comment = Comment { scope, steps, deriver, shown: fields.clone(), fields, extras: Vec::new(), found };
    let mut next = 0;
    for entry in stanza.fields {
        if entry.node.contains(&b'=') {
            comment.add(entry);
            continue;
        }
        match comment.shown.get(next).copied() {
            Some(field) => comment.change(entry, field),
            None if next == comment.shown.len() => comment.warn_of_surplus(entry),
            None => {}
        }
        next += 1;
    }
    comment.extras
}

struct Comment<'c, 's, 'ast> {
    scope: &'c mut UnitLowerer<'s, 'ast>,
    steps: &'c [ExpandedItem<'ast>],
    deriver: &'c mut Deriver<'ast>,
    /// Fields that the template prints.
    shown: Vec<FieldId>,
    /// All fields that are not omitted.
    fields: &'c mut Vec<FieldId>,
    extras: Vec<Extra>,
    found: &'c mut Vec<Diagnostic>,
}

/// Reason why an entry is refused, with its place.
pub(crate) struct Refused {
    pub(crate) span: Span,
    pub(crate) message: String,
}

impl Refused {
    pub(crate) fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span, message: message.into() }
    }
}

impl<'ast> Comment<'_, '_, 'ast> {
    fn refuse(&mut self, Refused { span, message }: Refused) {
        let error = Diagnostic::error(&FIELD_ENTRY, self.scope.unit.id, span, message);
        self.found.push(error.with_help("the field keeps the name and type that it has without the entry"));
    }

    fn warn_of_surplus(&mut self, entry: &Spanned<&'ast [u8]>) {
        let n = self.shown.len();
        let plural = if n == 1 { "" } else { "s" };
        let message = format!("entry for field {}, but the stanza has {n} field{plural}", n + 1);
        let names: Vec<_> = self.shown.iter().map(|id| self.name(*id).to_string()).collect();
        let help = if names.is_empty() { "it has no fields".into() } else { format!("fields: {}", names.join(", ")) };
        let warning = Diagnostic::warning(&SURPLUS_FIELDS, self.scope.unit.id, entry.span, message);
        self.found.push(warning.with_help(help));
    }

    fn name(&self, id: FieldId) -> &str {
        self.deriver.drafts[id].name.as_ref().map_or("", |(name, _)| name)
    }

    /// Applies `name`, `name:CODE`, `name:enum`, `-` or `*`.
    fn change(&mut self, entry: &Spanned<&'ast [u8]>, field: FieldId) {
        let result = match entry.node {
            b"*" => Ok(()),
            b"-" => {
                self.deriver.drafts[field].is_omitted = true;
                self.fields.retain(|id| *id != field);
                Ok(())
            }
            _ => self.rename(entry, field),
        };
        if let Err(refused) = result {
            self.refuse(refused);
        }
    }

    fn rename(&mut self, entry: &Spanned<&'ast [u8]>, field: FieldId) -> Result<(), Refused> {
        let (name, kind) = split(*entry, b':');
        let draft = &self.deriver.drafts[field];
        let mut recode = None;
        let mut texts = None;
        match kind {
            Some(kind) if kind.node == b"enum" => {
                if !draft.is_switch {
                    return Err(Refused::new(
                        kind.span,
                        format!("`{}` is not a switch, so it has no cases", self.name(field)),
                    ));
                }
                let mut all = Vec::new();
                self.deriver.enum_texts(self.steps, field, &mut all);
                texts = Some(all);
            }
            Some(kind) => {
                let is_refused = match draft.kind {
                    FieldKind::Utf8 => Some("a text"),
                    FieldKind::Float32 | FieldKind::Float64 => Some("a float"),
                    FieldKind::Binary | FieldKind::FixedBinary => Some("binary"),
                    FieldKind::List | FieldKind::Struct => Some("a loop"),
                    _ if draft.hint == Hint::Ns => Some("a duration"),
                    _ => None,
                };
                if let Some(what) = is_refused {
                    return Err(Refused::new(
                        kind.span,
                        format!("`{}` is {what}, whose code cannot be changed", self.name(field)),
                    ));
                }
                recode = Some(code(&kind)?);
            }
            None => {}
        }
        let has_texts = match (&recode, &texts) {
            (Some(code), _) => Form::Code(*code).has_texts(),
            (None, _) => draft.has_code_texts,
        };
        let has_cases = texts.as_ref().map_or(!draft.texts.is_empty(), |texts| !texts.is_empty());
        let has_labels = draft.has_text_list || draft.has_other_texts || has_texts || has_cases;
        self.check_name(&name, has_labels, Some(field))?;
        let draft = &mut self.deriver.drafts[field];
        if let Some(code) = recode {
            (draft.kind, draft.size, draft.hint) = Form::Code(code).shape();
            draft.recode = Some(code);
        }
        draft.has_code_texts = has_texts;
        if let Some(texts) = texts {
            draft.is_enum = true;
            draft.texts = Texts::default();
            texts.into_iter().for_each(|text| draft.texts.add(text));
        }
        draft.name = Some((String::from_utf8_lossy(name.node).into_owned(), NameRule::Comment));
        Ok(())
    }

    /// Checks that a name is well formed and not used by another field.
    fn check_name(&self, name: &Spanned<&[u8]>, has_labels: bool, of: Option<FieldId>) -> Result<(), Refused> {
        let text = chosen_name(name)?;
        let labels = has_labels.then(|| names::labels_of(&text));
        for other in self.fields.iter().filter(|id| Some(**id) != of) {
            let draft = &self.deriver.drafts[*other];
            let own = self.name(*other);
            let own_labels = draft.has_labels().then(|| names::labels_of(own));
            for taken in [Some(own), own_labels.as_deref()].into_iter().flatten() {
                if taken == text || labels.as_deref() == Some(taken) {
                    return Err(Refused::new(name.span, format!("another field has the name `{taken}`")));
                }
            }
        }
        Ok(())
    }

    /// Adds the field of `name=$macro` or `name=$macro%CODE`.
    fn add(&mut self, entry: &Spanned<&'ast [u8]>) {
        if let Err(refused) = self.try_add(entry) {
            let error = Diagnostic::error(&FIELD_ENTRY, self.scope.unit.id, refused.span, refused.message);
            self.found.push(error.with_help("there is no field for the entry"));
        }
    }

    fn try_add(&mut self, entry: &Spanned<&'ast [u8]>) -> Result<(), Refused> {
        let (name, value) = split(*entry, b'=');
        let Some(value) = value.filter(|value| value.node.starts_with(b"$")) else {
            return Err(Refused::new(entry.span, "expected `name=$macro` or `name=$macro%CODE`"));
        };
        let (macro_name, cast) = split(value, b'%');
        let macro_name = &macro_name.node[1..];
        let written = String::from_utf8_lossy(macro_name).into_owned();
        let cast = cast.map(|cast| code(&cast)).transpose()?;
        let mut form = cast.map_or(Form::of_uncast(macro_name), Form::Code);
        let mut hint = None;
        let is_own = self.scope.is_own(macro_name);
        let source = match self.scope.resolve(macro_name) {
            ResolvedName::Variable(slot) if is_own => ExtraSource::Number(Value::Slot(slot)),
            ResolvedName::Predefined(Predefined::Number(number, _)) => {
                if cast.is_none() && !is_data_macro(macro_name) {
                    let is_address = matches!(number, Value::Env(EnvValue::IpAddress));
                    hint = Some(if is_address { Hint::Hex } else { Hint::None });
                }
                ExtraSource::Number(number)
            }
            ResolvedName::Predefined(place @ (Predefined::Pointer | Predefined::Base)) => {
                hint = cast.is_none().then_some(Hint::None);
                ExtraSource::Number(if matches!(place, Predefined::Pointer) { Value::Pointer } else { Value::Base })
            }
            ResolvedName::Predefined(Predefined::Text(text)) => {
                if cast.is_some() {
                    return Err(Refused::new(value.span, format!("`${written}` is a text and has no cast")));
                }
                form = Form::Code(Code::Ascii { len: 0, width: 0 });
                ExtraSource::Text(vec![Node { inst: Inst::Name(text), span: value.span }])
            }
            ResolvedName::Unassigned | ResolvedName::Variable(_) => {
                return Err(Refused::new(value.span, format!("the stanza has no macro `${written}`")));
            }
            _ => return Err(Refused::new(value.span, format!("`${written}` has no value"))),
        };
        self.check_name(&name, form.has_texts(), None)?;
        let shown = match cast {
            Some(_) => {
                let percent = value.node.iter().position(|byte| *byte == b'%').unwrap_or(0);
                format!("${written}%{}", code_shown(&value.node[percent + 1..]))
            }
            None => format!("${written}"),
        };
        let place = StepSpan { source: self.scope.unit.id, span: entry.span };
        let mut draft = Draft::new(form, shown, place);
        if let Some(hint) = hint {
            (draft.kind, draft.hint) = (FieldKind::Int64, hint);
        }
        draft.name = Some((String::from_utf8_lossy(name.node).into_owned(), NameRule::Comment));
        let id = self.deriver.add(draft);
        self.fields.push(id);
        self.extras.push(Extra { id, form, source });
        Ok(())
    }
}

/// Checks that an entry is well formed as a name, and is not the name of a column that every table has.
pub(crate) fn chosen_name(name: &Spanned<&[u8]>) -> Result<String, Refused> {
    let text = String::from_utf8_lossy(name.node).into_owned();
    let is_name = matches!(name.node, [b'a'..=b'z' | b'_', rest @ ..]
        if rest.iter().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_')));
    if !is_name {
        let message =
            format!("`{text}` is not a name: expected `a` to `z`, digits and `_`, not beginning with a digit");
        return Err(Refused::new(name.span, message));
    }
    if text.len() > MAX_NAME {
        return Err(Refused::new(name.span, format!("name has {} characters, at most {MAX_NAME}", text.len())));
    }
    if names::COLUMNS.contains(&&*text) {
        return Err(Refused::new(name.span, format!("`{text}` is the name of a column of every table")));
    }
    Ok(text)
}

/// Splits an entry at the first `by`.
pub(crate) fn split(entry: Spanned<&[u8]>, by: u8) -> (Spanned<&[u8]>, Option<Spanned<&[u8]>>) {
    let Some(at) = entry.node.iter().position(|byte| *byte == by) else { return (entry, None) };
    let middle = entry.span.start + at as u32;
    let first = Spanned::new(&entry.node[..at], Span::new(entry.span.start, middle));
    (first, Some(Spanned::new(&entry.node[at + 1..], Span::new(middle + 1, entry.span.end))))
}

/// Parses a code that a comment may apply.
pub(crate) fn code(word: &Spanned<&[u8]>) -> Result<Code, Refused> {
    match code_word(word.node) {
        Some(CodeWord::Prints(Code::Counted(_) | Code::HookBytes | Code::HookType)) | None => {
            let text = String::from_utf8_lossy(word.node);
            Err(Refused::new(
                word.span,
                format!("`{text}` is not a code for a value: expected one such as `U4`, `X8`, `T4` or `E4`"),
            ))
        }
        Some(CodeWord::Prints(code)) => Ok(code),
        Some(CodeWord::Moves(_)) => {
            let text = String::from_utf8_lossy(word.node);
            Err(Refused::new(
                word.span,
                format!("`{text}` prints nothing: expected a code such as `U4`, `X8`, `T4` or `E4`"),
            ))
        }
        Some(CodeWord::IllegalSize) => {
            let text = String::from_utf8_lossy(word.node);
            Err(Refused::new(word.span, format!("`{text}` has a size that is invalid for its code")))
        }
    }
}
