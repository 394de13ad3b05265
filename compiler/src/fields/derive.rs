//! Derives fields from the steps of an expanded stanza: decides which values are fields, merges those that are the same
//! field, and gives them names and types.

use super::expand::{
    ExpandedItem, FieldId, FlagsStep, LoopStep, Printed, PrintedSource, Role, StepSpan, Subject, SwitchStep,
};
use super::form::{Form, NumberWidth};
use super::names;
use crate::ir::Value;
use foldhash::HashMap;
use tfbc_grammar::trcfmt::ast::Code;
use tfbc_vm::{FieldKind, Hint, NameRule};

/// Field under construction.
#[derive(Debug)]
pub(super) struct Draft {
    /// Name from a rule that does not depend on other fields; later the final name.
    pub name: Option<(String, NameRule)>,
    pub kind: FieldKind,
    pub size: u8,
    pub hint: Hint,
    /// Members of a list's items.
    pub members: Vec<FieldId>,
    /// Texts for its values, in the order of the template.
    pub texts: Texts,
    /// True if one event can have several of the texts, such as the names of flags.
    pub has_text_list: bool,
    /// True if its own code has a text for each number.
    pub has_code_texts: bool,
    /// True if another printed value of the same number has a text for each number.
    pub has_other_texts: bool,
    pub is_switch: bool,
    pub shown: String,
    pub place: StepSpan,
    /// Code that a `fields` comment applies to the value.
    pub recode: Option<Code>,
    /// True if a `fields` comment removes the field.
    pub is_omitted: bool,
    /// True if a `fields` comment asks for a text per case.
    pub is_enum: bool,
    /// Cells of the value and of its text.
    pub cell: u16,
    pub label_cell: u16,
}

impl Draft {
    pub fn new(form: Form, shown: String, place: StepSpan) -> Draft {
        let (kind, size, hint) = form.shape();
        Draft {
            name: None,
            kind,
            size,
            hint,
            members: Vec::new(),
            texts: Texts::default(),
            has_text_list: false,
            has_code_texts: form.has_texts(),
            has_other_texts: false,
            is_switch: false,
            shown,
            place,
            recode: None,
            is_omitted: false,
            is_enum: false,
            cell: NO_CELL,
            label_cell: NO_CELL,
        }
    }

    fn base_name(&self) -> Option<&str> {
        self.name.as_ref().map(|(name, _)| &**name)
    }

    /// True if the field has a column of texts.
    pub fn has_labels(&self) -> bool {
        self.has_text_list || self.has_code_texts || self.has_other_texts || !self.texts.is_empty()
    }
}

/// Distinct texts, in the order of their first use.
#[derive(Debug, Clone, Default)]
pub(super) struct Texts {
    texts: Vec<String>,
    /// Index by text, if there are more than [`FEW_TEXTS`].
    numbers: HashMap<String, u32>,
}

/// Number of texts that are compared one by one: a map of them takes longer to build.
const FEW_TEXTS: usize = 24;

impl Texts {
    /// Adds a text if it is not there yet.
    pub fn add(&mut self, text: String) {
        if self.number(&text).is_some() {
            return;
        }
        self.texts.push(text);
        if self.texts.len() > FEW_TEXTS {
            let first = if self.numbers.is_empty() { 0 } else { self.texts.len() - 1 };
            let new = (first..).zip(&self.texts[first..]);
            self.numbers.extend(new.map(|(at, text)| (text.clone(), at as u32)));
        }
    }

    /// Index of a text.
    pub fn number(&self, text: &str) -> Option<u32> {
        if self.texts.len() > FEW_TEXTS {
            return self.numbers.get(text).copied();
        }
        self.texts.iter().position(|known| known == text).map(|at| at as u32)
    }

    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    pub fn into_all(self) -> Vec<String> {
        self.texts
    }
}

/// Limit on the fields of one stanza, members of lists included.
pub(crate) const MAX_FIELDS: usize = 4096;

/// Cell number of values that are not stored.
pub(super) const NO_CELL: u16 = u16::MAX;

/// Switch whose cases are being visited.
struct ActiveSwitch<'ast> {
    subject: Subject<'ast>,
    /// Width of its selector; `None` until a printed value sets it.
    width: Option<NumberWidth>,
    /// True if a value printed in a case can belong to the selector's field.
    can_own: bool,
    field: FieldId,
    /// True if the current case has assigned the macro.
    is_assigned: bool,
}

/// Derivation of one stanza's fields.
#[derive(Default)]
pub(super) struct Deriver<'ast> {
    pub drafts: Vec<Draft>,
    /// Per field: the field it was merged into, or itself.
    merged_into: Vec<FieldId>,
    active: Vec<ActiveSwitch<'ast>>,
    /// Number of active switches outside the current loop.
    floor: usize,
    /// Text since the start of the line or the last value.
    text: Vec<u8>,
    /// Fields of selectors without a cast that get their type from a printed value: the form of that value and, if it
    /// prints another number than the selector, the number.
    pub typed: HashMap<FieldId, (Option<Value>, Form)>,
}

impl<'ast> Deriver<'ast> {
    /// Field that a field was merged into; follows the chain of merges.
    pub fn root(&self, mut id: FieldId) -> FieldId {
        while self.merged_into[id] != id {
            id = self.merged_into[id];
        }
        id
    }

    /// Adds a field.
    pub fn add(&mut self, draft: Draft) -> FieldId {
        self.merged_into.push(self.drafts.len());
        self.drafts.push(draft);
        self.drafts.len() - 1
    }

    /// Visits a block. Adds its fields to `fields`, in order.
    pub fn block(&mut self, steps: &mut [ExpandedItem<'ast>], fields: &mut Vec<FieldId>) {
        for step in steps {
            // A stanza with too many fields gets warning C56 and no fields at all, so the rest need not be visited.
            if self.drafts.len() > MAX_FIELDS {
                return;
            }
            match step {
                ExpandedItem::Text(text) => self.text.extend_from_slice(text),
                ExpandedItem::Soft | ExpandedItem::Tab => self.text.push(b' '),
                // A text names a field only on the same line.
                ExpandedItem::Newline(_) | ExpandedItem::Message => self.text.clear(),
                ExpandedItem::Inst(_) | ExpandedItem::Break(_) => {}
                // The macro no longer has the value that the switch tested, so it is another field.
                ExpandedItem::Assign(subject, _) => {
                    let assigned = self.active.iter_mut().filter(|active| active.subject == *subject);
                    assigned.for_each(|active| active.is_assigned = true);
                }
                ExpandedItem::Printed(show) => self.show(show, fields),
                ExpandedItem::Switch(switch) => self.switch(switch, fields),
                ExpandedItem::Loop(looping) => self.repeat(looping, fields),
                ExpandedItem::Flags(flags) => self.flags(flags, fields),
            }
        }
    }

    /// Takes the name from the text before a value, and clears the text.
    fn name_from_text(&mut self) -> Option<(String, NameRule)> {
        let name = names::from_text(&self.text);
        self.text.clear();
        name.map(|name| (name, NameRule::Text))
    }

    fn show(&mut self, show: &mut Printed<'ast>, fields: &mut Vec<FieldId>) {
        let name = self.name_from_text();
        if matches!(show.what, PrintedSource::Nothing) {
            return;
        }
        if let Some((field, sets_type)) = self.own(show.subject, show.form, show.form.width()) {
            self.name_owner(field, name);
            if sets_type {
                let value = if let PrintedSource::Number(value) = &show.what { Some(value.clone()) } else { None };
                self.typed.insert(field, (value, show.form));
            } else if show.form.has_texts() {
                self.drafts[field].has_other_texts = true;
            }
            show.role = Role::Own(field, sets_type);
            return;
        }
        let mut draft = Draft::new(show.form, show.shown.clone(), show.place);
        draft.name = name.or_else(|| named_by_macro(show.own_name));
        if show.form == Form::Timer && draft.name.is_none() {
            draft.name = Some(("timer".into(), NameRule::Timer));
        }
        let id = self.add(draft);
        show.role = Role::Field(id);
        fields.push(id);
    }

    /// Field of the enclosing switch, if a printed value of the same macro belongs to it. True if the printed value
    /// sets the type of the field.
    fn own(
        &mut self,
        subject: Option<Subject<'ast>>,
        form: Form,
        width: Option<NumberWidth>,
    ) -> Option<(FieldId, bool)> {
        let (subject, width) = (subject?, width?);
        // Innermost switch on the same macro. The case prints the value that the switch tested, so both are one field.
        let active = self.active[self.floor..].iter_mut().rfind(|active| active.subject == subject)?;
        if !active.can_own || active.is_assigned {
            return None;
        }
        let field = active.field;
        match active.width {
            Some(own) => (own == width).then_some((field, false)),
            // A bit range is not the whole value.
            None if matches!(width, NumberWidth::Range(..)) => None,
            None => {
                let same = self.active.iter_mut().filter(|active| active.field == field && active.width.is_none());
                same.for_each(|active| active.width = Some(width));
                let draft = &mut self.drafts[field];
                (draft.kind, draft.size, draft.hint) = form.shape();
                draft.has_code_texts = form.has_texts();
                // A `fields` comment can replace the code, and the printed value keeps its texts.
                draft.has_other_texts |= form.has_texts();
                Some((field, true))
            }
        }
    }

    /// Like [`Deriver::own`], for a switch inside another one. Without a cast, it shares the field of the outer switch,
    /// and a value printed in its cases sets the type.
    fn own_switch(&mut self, switch: &SwitchStep<'ast>) -> Option<(FieldId, bool)> {
        let active = self.active[self.floor..].iter().rfind(|active| Some(active.subject) == switch.subject);
        match active {
            Some(active)
                if switch.form.is_uncast() && active.width.is_none() && active.can_own && !active.is_assigned =>
            {
                Some((active.field, false))
            }
            _ => self.own(switch.subject, switch.form, switch.width),
        }
    }

    /// Names the field of a selector by the text before a printed value, if it has no name yet.
    fn name_owner(&mut self, field: FieldId, name: Option<(String, NameRule)>) {
        let own = &mut self.drafts[field].name;
        if own.is_none() {
            *own = name;
        }
    }

    fn switch(&mut self, switch: &mut SwitchStep<'ast>, fields: &mut Vec<FieldId>) {
        let before = std::mem::take(&mut self.text);
        let name = names::from_text(&before).map(|name| (name, NameRule::Text));
        let form = switch.form;
        // A text before a switch names its field. If it has none, the text names the first field in every case.
        let is_named = switch.is_field && name.is_some();
        let mut active = None;
        if switch.is_field {
            let own = if switch.has_mask { None } else { self.own_switch(switch) };
            let field = if let Some((field, sets_type)) = own {
                self.name_owner(field, name);
                if sets_type {
                    self.typed.insert(field, (None, form));
                } else if form.has_texts() {
                    self.drafts[field].has_other_texts = true;
                }
                switch.role = Role::Own(field, sets_type);
                field
            } else {
                let mut draft = Draft::new(form, switch.shown.clone(), switch.place);
                (draft.name, draft.is_switch) = (name, true);
                let field = self.add(draft);
                switch.role = Role::Field(field);
                fields.push(field);
                field
            };
            active = Some(field);
            if let Some(subject) = switch.subject {
                // If the outer switch has no cast either, a printed value sets the width of both.
                let outer = self.active[self.floor..].iter().rfind(|active| active.subject == subject);
                let is_uncast = form.is_uncast() && (own.is_none() || outer.is_some_and(|outer| outer.width.is_none()));
                self.active.push(ActiveSwitch {
                    subject,
                    width: if is_uncast { None } else { switch.width },
                    can_own: !switch.has_mask && switch.width.is_some(),
                    field,
                    is_assigned: false,
                });
            }
        }
        let is_bool = form == Form::Code(Code::Binary { bits: 1 });
        switch.is_flag = switch.is_field && is_bool && switch.is_for_one && case_text(&switch.cases[0]).is_some();
        let mut flag_name = None;
        let mut cases = Vec::with_capacity(switch.cases.len());
        for case in &mut switch.cases {
            if let Some(field) = active {
                match case_text(case) {
                    Some(text) if switch.is_flag => flag_name = names::from_text(text.as_bytes()),
                    Some(text) => self.drafts[field].texts.add(text),
                    None => {}
                }
                if switch.subject.is_some()
                    && let Some(active) = self.active.last_mut()
                {
                    // Cases are alternatives, so an assignment in one does not affect the next.
                    active.is_assigned = false;
                }
            }
            self.text.clear();
            if !is_named {
                self.text.extend_from_slice(&before);
            }
            let mut found = Vec::new();
            self.block(case, &mut found);
            cases.push(found);
        }
        if active.is_some() && switch.subject.is_some() {
            let inner = self.active.pop();
            // No case prints the macro, so the switch itself counts as a printed value without a cast.
            if let (Some(inner), Role::Own(field, _)) = (inner, switch.role)
                && inner.width.is_none()
            {
                let same = self.active.iter_mut().filter(|active| active.field == field && active.width.is_none());
                same.for_each(|active| active.width = form.width());
            }
        }
        if let Role::Field(field) = switch.role {
            let draft = &mut self.drafts[field];
            draft.name = (draft.name.take())
                .or_else(|| named_by_macro(switch.own_name))
                .or_else(|| Some((flag_name?, NameRule::Case)));
        }
        self.merge(cases, fields);
        self.text.clear();
    }

    /// Adds the fields of a switch's cases. Equal fields of different cases are merged.
    fn merge(&mut self, cases: Vec<Vec<FieldId>>, fields: &mut Vec<FieldId>) {
        let mut merged: Vec<FieldId> = Vec::new();
        for case in cases {
            // One event can have both fields of a case, so they are not merged even if their names are equal.
            let mut taken = vec![false; merged.len()];
            for id in case {
                let equal = (0..taken.len()).find(|at| !taken[*at] && self.are_one(merged[*at], id));
                match equal {
                    Some(at) => {
                        taken[at] = true;
                        self.unite(merged[at], id);
                    }
                    None => merged.push(id),
                }
            }
        }
        fields.append(&mut merged);
    }

    /// True if fields of different cases can be merged.
    fn are_one(&self, one: FieldId, other: FieldId) -> bool {
        let (one, other) = (&self.drafts[one], &self.drafts[other]);
        let text_kinds = !one.has_labels() || !other.has_labels() || one.has_text_list == other.has_text_list;
        one.base_name().is_some()
            && one.base_name() == other.base_name()
            && text_kinds
            && self.have_one_type(one, other)
    }

    fn have_one_type(&self, one: &Draft, other: &Draft) -> bool {
        let shape = |draft: &Draft| (draft.kind, draft.size, draft.hint, draft.members.len());
        // The items of a list are a struct, unless they have one column.
        let is_struct = one.members.len() > 1 || one.members.iter().any(|member| self.drafts[*member].has_labels());
        shape(one) == shape(other)
            && one.members.iter().zip(&other.members).all(|(one, other)| {
                let (one, other) = (&self.drafts[*one], &self.drafts[*other]);
                (!is_struct || one.base_name() == other.base_name())
                    && (one.has_labels(), one.has_text_list) == (other.has_labels(), other.has_text_list)
                    && self.have_one_type(one, other)
            })
    }

    fn unite(&mut self, one: FieldId, other: FieldId) {
        self.merged_into[other] = one;
        let texts = std::mem::take(&mut self.drafts[other].texts);
        let (members, other_members) = (self.drafts[one].members.clone(), self.drafts[other].members.clone());
        let added = &self.drafts[other];
        let (text_list, code_texts, other_texts, is_switch) =
            (added.has_text_list, added.has_code_texts, added.has_other_texts, added.is_switch);
        let draft = &mut self.drafts[one];
        texts.texts.into_iter().for_each(|text| draft.texts.add(text));
        draft.has_text_list |= text_list;
        draft.has_code_texts |= code_texts;
        draft.has_other_texts |= other_texts;
        draft.is_switch |= is_switch;
        for (one, other) in members.into_iter().zip(other_members) {
            self.unite(one, other);
        }
    }

    fn repeat(&mut self, looping: &mut LoopStep<'ast>, fields: &mut Vec<FieldId>) {
        let before = std::mem::take(&mut self.text);
        let name = names::from_text(&before).map(|name| (name, NameRule::Text));
        if let Some(code) = looping.single {
            let mut draft = Draft::new(Form::Code(code), "LOOP".into(), looping.place);
            draft.name = name;
            if draft.kind != FieldKind::Utf8 {
                draft.kind = FieldKind::Binary;
            }
            let id = self.add(draft);
            looping.role = Role::Field(id);
            fields.push(id);
            return;
        }
        if name.is_none() {
            self.text = before;
        }
        // A switch outside the loop tested one value, but the loop prints a list of values. So they do not share a
        // field.
        let floor = std::mem::replace(&mut self.floor, self.active.len());
        let mut members = Vec::new();
        self.block(&mut looping.body, &mut members);
        self.floor = floor;
        self.text.clear();
        let Some(first) = members.first().copied() else { return };
        let mut draft = Draft::new(Form::Plain, "LOOP".into(), looping.place);
        (draft.kind, draft.hint) = (FieldKind::List, Hint::None);
        draft.name = name;
        if members.len() == 1 && draft.name.is_none() && !self.drafts[first].has_labels() {
            draft.name = self.drafts[first].name.clone();
        }
        self.name_all(&members, false);
        draft.members = members;
        let id = self.add(draft);
        looping.role = Role::Field(id);
        fields.push(id);
    }

    fn flags(&mut self, flags: &mut FlagsStep<'ast>, fields: &mut Vec<FieldId>) {
        let name = self.name_from_text();
        if !flags.is_field {
            return;
        }
        let mut draft = Draft::new(flags.form, "BITFLAGS".into(), flags.place);
        draft.name = name.or_else(|| named_by_macro(flags.own_name));
        (draft.has_text_list, draft.has_code_texts) = (true, false);
        for entry in &flags.entries {
            let text = trimmed(&entry.yes.text);
            if !text.is_empty() {
                draft.texts.add(String::from_utf8_lossy(text).into_owned());
            }
        }
        let id = self.add(draft);
        flags.role = Role::Field(id);
        fields.push(id);
    }

    /// Makes the names of a row's fields, or of a list item's, unique.
    pub fn name_all(&mut self, fields: &[FieldId], is_row: bool) {
        let mut all: Vec<(String, names::Besides)> = Vec::with_capacity(fields.len());
        for (at, id) in fields.iter().enumerate() {
            let draft = &mut self.drafts[*id];
            let (name, _) = draft.name.get_or_insert_with(|| (format!("f{}", at + 1), NameRule::Position));
            if is_row && names::COLUMNS.contains(&name.as_str()) {
                name.insert_str(0, "arg_");
            }
            all.push((name.clone(), names::Besides { labels: draft.has_labels(), raw: false }));
        }
        names::number(&mut all);
        for (id, (name, _)) in fields.iter().zip(all) {
            if let Some(own) = &mut self.drafts[*id].name {
                own.0 = name;
            }
        }
    }

    /// Texts of all cases of a field's switches, in order, for a `fields` comment that asks for a text per case.
    pub fn enum_texts(&self, steps: &[ExpandedItem<'ast>], field: FieldId, texts: &mut Vec<String>) {
        for step in steps {
            match step {
                ExpandedItem::Switch(switch) => {
                    let (is_main, is_own) = match switch.role {
                        Role::Field(id) => (self.root(id) == field, false),
                        Role::Own(id, _) => (false, self.root(id) == field),
                        Role::None => (false, false),
                    };
                    for case in &switch.cases {
                        if is_main {
                            texts.extend(first_text(case));
                        } else if is_own {
                            texts.extend(case_text(case));
                        }
                        self.enum_texts(case, field, texts);
                    }
                }
                ExpandedItem::Loop(looping) => self.enum_texts(&looping.body, field, texts),
                _ => {}
            }
        }
    }
}

fn named_by_macro(name: Option<&[u8]>) -> Option<(String, NameRule)> {
    Some((names::from_macro(name?)?, NameRule::Macro))
}

/// Removes blanks at both ends.
pub(super) fn trimmed(text: &[u8]) -> &[u8] {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = text.iter().position(|byte| !is_blank(byte)).unwrap_or(text.len());
    let end = text.iter().rposition(|byte| !is_blank(byte)).map_or(start, |last| last + 1);
    &text[start..end]
}

/// Text of a case that prints only text.
pub(super) fn case_text(steps: &[ExpandedItem<'_>]) -> Option<String> {
    let (text, has_value) = printed(steps);
    text.filter(|_| !has_value)
}

/// Text that a case prints before its first value.
pub(super) fn first_text(steps: &[ExpandedItem<'_>]) -> Option<String> {
    printed(steps).0
}

/// Text before the first value, trimmed, or `None` if it is empty; and true if there is a value.
fn printed(steps: &[ExpandedItem<'_>]) -> (Option<String>, bool) {
    // Most cases are one text.
    if let [ExpandedItem::Text(text)] | [ExpandedItem::Text(text), ExpandedItem::Soft] = steps {
        return (shown(text), false);
    }
    let (mut text, mut is_soft, mut has_value) = (Vec::new(), false, false);
    for step in steps {
        match step {
            ExpandedItem::Text(more) => {
                if std::mem::take(&mut is_soft) && !matches!(more, [b' ' | b'\t', ..]) {
                    text.push(b' ');
                }
                text.extend_from_slice(more);
            }
            ExpandedItem::Soft => is_soft = true,
            ExpandedItem::Tab | ExpandedItem::Newline(_) => {
                is_soft = false;
                text.push(b' ');
            }
            ExpandedItem::Assign(..) | ExpandedItem::Inst(_) => {}
            ExpandedItem::Break(_) => break,
            ExpandedItem::Message
            | ExpandedItem::Printed(_)
            | ExpandedItem::Switch(_)
            | ExpandedItem::Loop(_)
            | ExpandedItem::Flags(_) => {
                has_value = true;
                break;
            }
        }
    }
    (shown(&text), has_value)
}

/// Trimmed text; `None` if it is empty.
fn shown(text: &[u8]) -> Option<String> {
    let text = trimmed(text);
    (!text.is_empty()).then(|| String::from_utf8_lossy(text).into_owned())
}
