//! Fields of an expanded stanza: which printed values are one field, and how fields are called.

use super::expand::{CaseNode, ExpandedItem, LoopNode, MacroId, PrintedItem, SwitchNode};
use super::form::{FieldType, FormWidth, PrintForm};
use super::name;
use super::schema::{FieldOrigin, ItemForm, ItemPlace, NameRule, SwitchTexts, TextKind, TypedField};
use tfbc_grammar::trcfmt::ast::{Code, Size};

/// Fields of a stanza with their final names.
pub(super) fn fields(nodes: &[ExpandedItem]) -> Vec<TypedField> {
    let mut fields = FieldBuilder { owners: Vec::new(), loops: 0, text: Vec::new() }.nodes(nodes);
    number(&mut fields, true);
    fields
}

/// Switch whose case is being read.
struct OpenSwitch {
    id: MacroId,
    masked: bool,
    /// Width of the printed values that share the field; `None` until the first one sets it.
    width: Option<FormWidth>,
    /// Form of the printed value that set the width.
    form: Option<PrintForm>,
    /// False after an assignment in the case.
    live: bool,
    /// Number of loops around the switch.
    loops: usize,
    /// Name of the first printed value that shares the field and has a name.
    name: Option<String>,
    own: Vec<(usize, ItemForm)>,
    /// Case that is being read.
    case: usize,
}

struct FieldBuilder {
    owners: Vec<OpenSwitch>,
    loops: usize,
    /// Text before the next item.
    text: Vec<u8>,
}

impl FieldBuilder {
    fn nodes(&mut self, nodes: &[ExpandedItem]) -> Vec<TypedField> {
        let mut fields = Vec::new();
        for node in nodes {
            match node {
                ExpandedItem::Text(text) => self.text.extend(text),
                ExpandedItem::SoftBlank | ExpandedItem::Tab => self.text.push(b' '),
                ExpandedItem::Newline | ExpandedItem::Value => self.text.clear(),
                ExpandedItem::Break => {}
                ExpandedItem::Assign(id) => {
                    let owners = self.owners.iter_mut().filter(|owner| owner.id == *id);
                    owners.for_each(|owner| owner.live = false);
                }
                ExpandedItem::PrintedItem(printed) => {
                    let name = self.take_name();
                    fields.extend(self.printed(printed, name));
                }
                ExpandedItem::Switch(node) => fields.extend(self.switch(node)),
                ExpandedItem::Loop(node) => fields.extend(self.repeat(node)),
            }
        }
        fields
    }

    /// Name from the text before the next item. The text is used only once.
    fn take_name(&mut self) -> Option<String> {
        name::from_text(&std::mem::take(&mut self.text))
    }

    fn printed(&mut self, printed: &PrintedItem, name: Option<String>) -> Option<TypedField> {
        if printed.flags.is_none() {
            let shown = ItemForm { path: printed.path.clone(), form: printed.form, recast: false, texts: None };
            if let Some(at) = self.owner(printed.id.as_ref(), width(printed)) {
                self.owners[at].add_shared_value(width(printed), name, shown);
                return None;
            }
        }
        let mut field = TypedField::new(printed, name);
        if printed.form == PrintForm::Duration && field.rule == NameRule::Position {
            (field.name, field.rule) = ("timer".into(), NameRule::Timer);
        }
        if let Some(flags) = &printed.flags {
            field.text = TextKind::List;
            field.texts = distinct(flags.iter().map(|text| name::trim(text).to_vec()).filter(|text| !text.is_empty()));
        }
        Some(field)
    }

    /// Index of the switch whose field a printed value belongs to.
    fn owner(&self, id: Option<&MacroId>, width: FormWidth) -> Option<usize> {
        let at = self.owners.iter().rposition(|owner| Some(&owner.id) == id)?;
        let owner = &self.owners[at];
        let fits = match owner.width {
            Some(own) => own == width,
            None => !matches!(width, FormWidth::Range(..)),
        };
        let is_own = fits && width != FormWidth::Never && !owner.masked && owner.live && owner.loops == self.loops;
        is_own.then_some(at)
    }

    fn switch(&mut self, node: &SwitchNode) -> Vec<TypedField> {
        let name = name::from_text(&self.text);
        if name.is_some() && node.selector.is_some() {
            self.text.clear();
        }
        let before = std::mem::take(&mut self.text);
        let id = node.selector.as_ref().and_then(|selector| selector.id.clone());
        let n_owners = self.owners.len();
        let was_live = self.owners.iter().map(|owner| owner.live).collect::<Vec<_>>();
        if let (Some(selector), Some(id)) = (&node.selector, &id) {
            self.owners.push(OpenSwitch {
                id: id.clone(),
                masked: node.masked,
                width: (!selector.uncast).then(|| width(selector)),
                form: None,
                live: true,
                loops: self.loops,
                name: None,
                own: Vec::new(),
                case: 0,
            });
        }
        let mut merged: Vec<(TypedField, Vec<usize>)> = Vec::new();
        for (at, case) in node.cases.iter().enumerate() {
            if let Some(owner) = self.owners.get_mut(n_owners) {
                (owner.live, owner.case) = (true, at);
            }
            self.text.clone_from(&before);
            for field in self.nodes(&case.body) {
                merge(&mut merged, field, at);
            }
        }
        self.text.clear();
        let owner = if self.owners.len() > n_owners { self.owners.pop() } else { None };
        let in_cases = merged.into_iter().map(|(field, _)| field);
        let Some(selector) = &node.selector else { return in_cases.collect() };
        let set_width = owner.as_ref().and_then(|owner| owner.width);
        let shown_width = set_width.unwrap_or_else(|| width(selector));
        let field = selector_field(selector, name, &node.cases, owner);
        // An inner switch belongs to the one around it, if it did when its selector was read.
        let lives: Vec<bool> = self.owners.iter().map(|owner| owner.live).collect();
        for (owner, live) in self.owners.iter_mut().zip(&was_live) {
            owner.live = *live;
        }
        let adopts = if node.masked { None } else { self.owner(id.as_ref(), shown_width) };
        for (owner, live) in self.owners.iter_mut().zip(&lives) {
            owner.live = *live;
        }
        match (adopts, field) {
            (Some(at), field) => {
                let name = (field.rule == NameRule::Text).then_some(field.name);
                let has_type = self.owners[at].width.is_some();
                for source in field.sources {
                    if let FieldOrigin::Shown(mut shown) = source {
                        if has_type {
                            // The field has its type from elsewhere, so the inner switch shows its own selector.
                            (shown.form, shown.recast) = (selector.form, false);
                        }
                        self.owners[at].add_shared_value(shown_width, name.clone(), shown);
                    }
                }
                in_cases.collect()
            }
            (None, field) => std::iter::once(field).chain(in_cases).collect(),
        }
    }

    fn repeat(&mut self, node: &LoopNode) -> Option<TypedField> {
        let name = name::from_text(&self.text);
        if name.is_some() {
            self.text.clear();
        }
        self.loops += 1;
        let mut members = self.nodes(&node.body);
        self.loops -= 1;
        self.text.clear();
        let is_struct = match &members[..] {
            [] => return None,
            [only] => only.text != TextKind::None,
            _ => true,
        };
        let (ty, hint) = match node.only {
            Some(Code::HexByte | Code::Hex(Size::Bytes(1))) => (FieldType::Binary, Some("hex")),
            Some(Code::Ascii { len: 1, width: 0 }) => (FieldType::Utf8, None),
            _ if is_struct => (FieldType::ListOfStructs, None),
            _ => (FieldType::List, None),
        };
        let (name, rule) = match (name, &members[..]) {
            (Some(name), _) => (name, NameRule::Text),
            // A field with a text column is two columns, so it is not the only one.
            (None, [only]) if !is_struct => (only.name.clone(), only.rule),
            (None, _) => (String::new(), NameRule::Position),
        };
        number(&mut members, false);
        let origin = FieldOrigin::Loop { path: node.path.clone(), ty, members: members.clone() };
        Some(TypedField {
            ty,
            hint,
            members,
            shown: "LOOP".into(),
            sources: vec![origin],
            ..TypedField::empty(name, rule, node.place)
        })
    }
}

impl OpenSwitch {
    /// Adds a printed value that shares the field.
    fn add_shared_value(&mut self, width: FormWidth, name: Option<String>, shown: ItemForm) {
        if self.width.is_none() {
            self.width = Some(width);
            self.form = Some(shown.form);
        }
        if self.name.is_none() {
            self.name = name;
        }
        self.own.push((self.case, shown));
    }
}

impl TypedField {
    pub(super) fn empty(name: String, rule: NameRule, place: ItemPlace) -> TypedField {
        TypedField {
            name,
            rule,
            ty: FieldType::Int64,
            hint: None,
            text: TextKind::None,
            texts: Vec::new(),
            members: Vec::new(),
            shown: String::new(),
            place,
            sources: Vec::new(),
            code: None,
            by_case: false,
            omitted: false,
            at_end: None,
        }
    }

    /// Field of one printed value, without flags; the name is from the text before it.
    fn new(printed: &PrintedItem, name: Option<String>) -> TypedField {
        let from_macro = printed.macro_name.as_ref().and_then(|macro_name| name::from_macro(macro_name));
        let (name, rule) = match (name, from_macro) {
            (Some(name), _) => (name, NameRule::Text),
            (None, Some(name)) => (name, NameRule::Macro),
            (None, None) => (String::new(), NameRule::Position),
        };
        let shown = ItemForm { path: printed.path.clone(), form: printed.form, recast: false, texts: None };
        TypedField {
            ty: printed.form.type_of(),
            hint: printed.form.hint(),
            text: if printed.form.has_text() && printed.flags.is_none() { TextKind::One } else { TextKind::None },
            shown: printed.shown.clone(),
            sources: vec![FieldOrigin::Shown(shown)],
            ..TypedField::empty(name, rule, printed.place)
        }
    }
}

/// Field of a switch's selector.
fn selector_field(
    selector: &PrintedItem,
    name: Option<String>,
    cases: &[CaseNode],
    owner: Option<OpenSwitch>,
) -> TypedField {
    let (own_form, own_name, own) = match owner {
        Some(owner) => (owner.form, owner.name, owner.own),
        None => (None, None, Vec::new()),
    };
    let form = own_form.unwrap_or(selector.form);
    let mut field = TypedField::new(&PrintedItem { form, ..selector.clone() }, name.or(own_name));
    let case_texts: Vec<Option<Vec<u8>>> = cases.iter().map(|case| case_text(&case.body)).collect();
    let is_flag = field.ty == FieldType::Bool
        && matches!(cases, [CaseNode { is_one: true, .. }])
        && case_texts.iter().all(Option::is_some);
    let has_text = case_texts.iter().any(Option::is_some) && !is_flag;
    if is_flag
        && field.rule == NameRule::Position
        && let Some(name) = case_texts.iter().flatten().next().and_then(|text| name::from_text(text))
    {
        (field.name, field.rule) = (name, NameRule::Case);
    }
    if has_text || own.iter().any(|(_, shown)| shown.has_text()) || form.has_text() {
        field.text = TextKind::One;
    }
    let texts = SwitchTexts {
        leads: cases.iter().map(|case| text_before_value(&case.body)).collect(),
        cases: case_texts,
        own,
        is_flag,
    };
    field.texts = distinct(texts.in_order(false));
    let shown = ItemForm { path: selector.path.clone(), form, recast: own_form.is_some(), texts: Some(texts) };
    field.sources = vec![FieldOrigin::Shown(shown)];
    field
}

/// Width of a printed value.
fn width(printed: &PrintedItem) -> FormWidth {
    match &printed.id {
        Some(MacroId::Predefined(name)) if printed.uncast && name[0] == b'D' => FormWidth::Word,
        _ => printed.form.width(),
    }
}

/// Adds a field of a case to the fields of the earlier cases.
fn merge(merged: &mut Vec<(TypedField, Vec<usize>)>, field: TypedField, case: usize) {
    let is_same = |(other, cases): &(TypedField, Vec<usize>)| {
        let kinds_fit = other.text == field.text || [other.text, field.text].contains(&TextKind::None);
        field.rule != NameRule::Position
            && other.rule != NameRule::Position
            && other.name == field.name
            && other.key() == field.key()
            && kinds_fit
            && !cases.contains(&case)
    };
    match merged.iter_mut().find(|found| is_same(found)) {
        Some((other, cases)) => {
            other.join(field);
            cases.push(case);
        }
        None => merged.push((field, vec![case])),
    }
}

impl TypedField {
    /// Type and hint. For a list, also of all its members.
    fn key(&self) -> String {
        let members = match self.ty {
            FieldType::List => self.members.iter().map(TypedField::key).collect(),
            FieldType::ListOfStructs => {
                let member = |member: &TypedField| format!("{} {:?} {}, ", member.name, member.text, member.key());
                self.members.iter().map(member).collect()
            }
            _ => String::new(),
        };
        format!("{:?} {:?} [{members}]", self.ty, self.hint)
    }

    /// Adds the printed values of another case.
    fn join(&mut self, other: TypedField) {
        if self.text == TextKind::None {
            self.text = other.text;
        }
        self.texts = distinct(std::mem::take(&mut self.texts).into_iter().chain(other.texts));
        if matches!(self.ty, FieldType::List | FieldType::ListOfStructs) {
            for (member, other) in self.members.iter_mut().zip(other.members) {
                member.join(other);
            }
        }
        self.sources.extend(other.sources);
    }
}

impl ItemForm {
    /// True if the printed value can have a text.
    pub(super) fn has_text(&self) -> bool {
        let Some(texts) = &self.texts else { return self.form.has_text() };
        let own = || texts.own.iter().any(|(_, shown)| shown.has_text());
        let case = || !texts.is_flag && texts.cases.iter().any(Option::is_some);
        case() || self.form.has_text() || own()
    }
}

impl SwitchTexts {
    /// Texts of the template in the order of the cases, including the texts of switches that share the field. With
    /// `by_case`, one text per case, as `:enum` asks for.
    pub(super) fn in_order(&self, by_case: bool) -> Vec<Vec<u8>> {
        let mut texts = Vec::new();
        for (at, (case, lead)) in self.cases.iter().zip(&self.leads).enumerate() {
            let text = if by_case { lead } else { case };
            texts.extend(text.iter().filter(|_| by_case || !self.is_flag).cloned());
            let own = self.own.iter().filter(|(case, _)| *case == at);
            texts.extend(own.filter_map(|(_, shown)| shown.texts.as_ref()).flat_map(|texts| texts.in_order(false)));
        }
        texts
    }
}

/// Text that a case prints, if it prints a text and no value.
fn case_text(nodes: &[ExpandedItem]) -> Option<Vec<u8>> {
    let (text, is_whole) = printed(nodes);
    if is_whole { text } else { None }
}

/// Text that a case prints before its first value; `None` if it is empty.
fn text_before_value(nodes: &[ExpandedItem]) -> Option<Vec<u8>> {
    printed(nodes).0
}

/// Text up to the first value or `$BREAK`, `None` if it is empty; true if no value ended it.
fn printed(nodes: &[ExpandedItem]) -> (Option<Vec<u8>>, bool) {
    let (mut text, mut pending) = (Vec::new(), false);
    let mut is_whole = true;
    for node in nodes {
        match node {
            ExpandedItem::Text(bytes) if bytes.is_empty() => {}
            ExpandedItem::Text(bytes) => {
                if pending && !bytes.starts_with(b" ") && !bytes.starts_with(b"\t") {
                    text.push(b' ');
                }
                pending = false;
                text.extend(bytes);
            }
            ExpandedItem::SoftBlank => pending = true,
            ExpandedItem::Tab | ExpandedItem::Newline => {
                pending = false;
                text.push(b' ');
            }
            ExpandedItem::Assign(_) => {}
            ExpandedItem::Break => break,
            ExpandedItem::Value | ExpandedItem::PrintedItem(_) | ExpandedItem::Switch(_) | ExpandedItem::Loop(_) => {
                is_whole = false;
                break;
            }
        }
    }
    let text = name::trim(&text).to_vec();
    ((!text.is_empty()).then_some(text), is_whole)
}

/// Removes texts that occurred before.
pub(super) fn distinct(texts: impl IntoIterator<Item = Vec<u8>>) -> Vec<Vec<u8>> {
    let mut found: Vec<Vec<u8>> = Vec::new();
    for text in texts {
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

/// Makes the names of fields differ. Only fields of a table avoid the names of its columns.
fn number(fields: &mut [TypedField], of_table: bool) {
    let mut used: Vec<String> = Vec::new();
    let mut waiting = Vec::new();
    for (at, field) in fields.iter_mut().enumerate() {
        if field.rule == NameRule::Position {
            field.name = format!("f{}", at + 1);
        }
        if of_table && name::COLUMNS.contains(&&field.name[..]) {
            field.name.insert_str(0, "arg_");
        }
        match field.names(&field.name).iter().any(|name| used.contains(name)) {
            true => waiting.push(at),
            false => used.extend(field.names(&field.name)),
        }
    }
    for at in waiting {
        let field = &mut fields[at];
        let mut numbers = 2..;
        let name = numbers.find_map(|n| {
            let name = format!("{}_{n}", field.name);
            let is_free = !field.names(&name).iter().any(|name| used.contains(name));
            is_free.then_some(name)
        });
        field.name = name.expect("there is always another number");
        used.extend(field.names(&field.name));
    }
}

impl TypedField {
    /// Names of the field and of its text column, if the field were called `name`.
    pub(super) fn names(&self, name: &str) -> Vec<String> {
        let text = (self.text != TextKind::None).then(|| format!("{name}_text"));
        std::iter::once(name.to_owned()).chain(text).collect()
    }
}
