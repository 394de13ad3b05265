//! Fields of a stanza: names, types, texts and the printed values that they come from.

use tfbc_grammar::trcfmt::ast::Code;

use super::form::{FieldType, PrintForm};

/// Position of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ItemPlace {
    /// `None` for a built-in stanza.
    pub(super) file: Option<usize>,
    pub(super) offset: u32,
}

/// Rule that named a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameRule {
    Comment,
    Text,
    Macro,
    Case,
    Timer,
    Position,
}

/// Kind of a field's `NAME_text`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    None,
    One,
    List,
}

/// An entry that has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentProblem {
    /// Offset of the entry in its file.
    pub offset: u32,
    /// True for an error, false for a warning.
    pub is_error: bool,
    /// Message, for the reader of a test.
    pub message: &'static str,
}

/// Fields of a stanza.
#[derive(Debug, Clone)]
pub struct FieldSchema {
    pub(super) fields: Vec<TypedField>,
    /// Errors and warnings of the comment.
    pub problems: Vec<CommentProblem>,
}

impl FieldSchema {
    /// Number of fields, without their texts.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// True if there are no fields.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Rules of the specification that were applied, for counting them.
    pub fn traits(&self) -> Vec<String> {
        let mut found = Vec::new();
        for field in &self.fields {
            field.traits("", &mut found);
        }
        if !self.problems.is_empty() {
            found.push("surplus entries".into());
        }
        found
    }
}

impl TypedField {
    fn traits(&self, depth: &str, found: &mut Vec<String>) {
        let mut add = |text: &str| found.push(format!("{depth}{text}"));
        add(&format!("rule {:?}", self.rule));
        add(&format!("type {:?}, hint {}", self.ty, self.hint.unwrap_or("none")));
        let number = self.name.rsplit('_').next().unwrap_or_default();
        let is_numbered = self.name.contains('_') && number.parse::<u32>().is_ok();
        for (is_true, text) in [
            (self.text == TextKind::One, "text"),
            (self.text == TextKind::List, "list of texts"),
            (self.text != TextKind::None && self.texts.is_empty(), "text without texts of the template"),
            (self.sources.len() > 1, "several printed values"),
            (self.sources.len() > 1 && !self.members.is_empty(), "several lists"),
            (self.name.starts_with("arg_"), "column's name"),
            (is_numbered, "number"),
            (self.code.is_some(), "code of a comment"),
            (self.by_case, "enum"),
            (self.omitted, "omitted"),
            (self.at_end.is_some(), "at the end"),
            (self.name.len() > 30, "long name"),
        ] {
            if is_true {
                add(text);
            }
        }
        for source in &self.sources {
            let FieldOrigin::Shown(ItemForm { texts: Some(texts), recast, .. }) = source else { continue };
            add(if texts.is_flag { "flag" } else { "switch" });
            if *recast {
                add("switch with the form of an own printed value");
            }
            for (_, own) in &texts.own {
                add(if own.texts.is_some() { "own switch" } else { "own printed value" });
                if own.has_text() {
                    add("own printed value with a text");
                }
            }
        }
        for member in &self.members {
            member.traits(&format!("in a list: {}", depth.replace("in a list: ", "in a list of lists: ")), found);
        }
    }
}

/// A field of a table or struct.
#[derive(Debug, Clone)]
pub(super) struct TypedField {
    pub(super) name: String,
    pub(super) rule: NameRule,
    pub(super) ty: FieldType,
    pub(super) hint: Option<&'static str>,
    pub(super) text: TextKind,
    /// Texts of the template.
    pub(super) texts: Vec<Vec<u8>>,
    /// Members of a list.
    pub(super) members: Vec<TypedField>,
    pub(super) shown: String,
    pub(super) place: ItemPlace,
    pub(super) sources: Vec<FieldOrigin>,
    /// Code that a comment applies to the value.
    pub(super) code: Option<Code>,
    /// True if a comment gives every case a text.
    pub(super) by_case: bool,
    /// True if a comment omits the field.
    pub(super) omitted: bool,
    /// Macro whose value at the end of the event is the field's, with its form.
    pub(super) at_end: Option<(Vec<u8>, PrintForm)>,
}

/// A printed value of a field.
#[derive(Debug, Clone)]
pub(super) enum FieldOrigin {
    Shown(ItemForm),
    Loop { path: Vec<u32>, ty: FieldType, members: Vec<TypedField> },
}

/// A printed value that is not a loop.
#[derive(Debug, Clone)]
pub(super) struct ItemForm {
    pub(super) path: Vec<u32>,
    pub(super) form: PrintForm,
    /// True if the form comes from a printed value instead of the selector.
    pub(super) recast: bool,
    /// Texts of a switch.
    pub(super) texts: Option<SwitchTexts>,
}

#[derive(Debug, Clone)]
pub(super) struct SwitchTexts {
    /// Texts of text cases.
    pub(super) cases: Vec<Option<Vec<u8>>>,
    /// Texts before each case's first value.
    pub(super) leads: Vec<Option<Vec<u8>>>,
    /// Own printed values in the cases.
    pub(super) own: Vec<(usize, ItemForm)>,
    pub(super) is_flag: bool,
}
