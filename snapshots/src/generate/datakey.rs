//! Random event definitions, and records that reach their fields, enums and conditions.

use std::fmt::Write;

use super::Rng;

/// Definition files, with the values that records need to reach their parts.
#[derive(Debug, Clone, Default)]
pub struct GeneratedDefinitions {
    /// The files in order.
    pub files: Vec<String>,
    /// Fields and values of the definitions.
    keys: Vec<KeyModel>,
}

/// A generated record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedRecord {
    /// Class in its header.
    pub class: u8,
    /// Event number.
    pub id: u16,
    /// True for a combine record.
    pub wide: bool,
    /// True if it belongs to a big-endian log.
    pub big_endian: bool,
    /// Its data.
    pub payload: Vec<u8>,
}

/// A datakey or an eventclass's event.
#[derive(Debug, Clone, Default)]
struct KeyModel {
    events: Vec<(u8, u16)>,
    offset: u64,
    wide_offset: u64,
    fields: Vec<FieldModel>,
}

/// A field with values that its enums, masks and conditions test.
#[derive(Debug, Clone, Default)]
struct FieldModel {
    label: &'static str,
    /// Bytes of an item; 0 for a string.
    size: u32,
    count: usize,
    /// True if it is one number, and not a character.
    is_number: bool,
    values: Vec<u64>,
}

const LABELS: [&str; 14] =
    ["a", "b", "rc", "seq_id", "my label", "p[0]", "x:y", "étage", "len=", "\"q\"", "d", "kind", "A&B", "state <1>"];

const STRINGS: [&str; 16] = [
    "ONE",
    "two words",
    "REQUEST_RENDER",
    "ünïcode",
    "x:y",
    "<lt>",
    "A&B",
    "it's",
    "\"q\"",
    "-",
    "100%",
    " blank ",
    "0x5",
    "名",
    "tab\tline\n",
    "\r\u{7f}",
];

/// Event ids; only a few, so that datakeys share events.
const EVENTS: [(u8, u16); 8] = [(6, 65), (6, 65), (6, 1), (7, 65), (5, 3), (2, 523), (10, 1023), (31, 0)];

/// Numbers at boundaries.
const EDGES: [i128; 40] = [
    0,
    0,
    0,
    1,
    1,
    1,
    2,
    2,
    3,
    3,
    4,
    5,
    7,
    8,
    0xf,
    0x10,
    0x20,
    0x41,
    0x7e,
    0x7f,
    0x80,
    0xf0,
    0xff,
    0x100,
    0x7fff,
    0x8000,
    0xff00,
    0xffff,
    0x10000,
    0x7fff_ffff,
    0xffff_ffff,
    0x1_0000_0000,
    -1,
    -2,
    -0x80,
    -0x81,
    -0x8000,
    -0x8000_0000,
    0xffff_ffff_ffff_ffff,
    -0x8000_0000_0000_0000,
];

/// Files that contain every feature sooner or later.
pub fn definitions(rng: &mut Rng) -> GeneratedDefinitions {
    let mut all = GeneratedDefinitions::default();
    let files = 1 + usize::from(rng.chance(30)) + usize::from(rng.chance(10));
    for _ in 0..files {
        let file = Writer { rng, keys: &mut all.keys, faulty: false }.file();
        all.files.push(file);
    }
    all
}

/// A record, usually of an event that the definitions name.
pub fn record(rng: &mut Rng, definitions: &GeneratedDefinitions, big_endian: bool) -> GeneratedRecord {
    let keys = &definitions.keys;
    let key = keys.get(rng.below(keys.len()));
    let event = key.and_then(|key| key.events.get(rng.below(key.events.len())));
    let (class, id) = *event.filter(|_| rng.chance(95)).unwrap_or(rng.pick(&EVENTS));
    let class = if class == 5 && rng.chance(20) { 13 } else { class };
    let wide = rng.chance(40);
    let mut payload = match key {
        Some(key) if rng.chance(90) => payload(rng, key, wide, big_endian),
        _ => (0..rng.below(24)).map(|_| byte(rng)).collect(),
    };
    for _ in 0..rng.below(6) {
        payload.push(byte(rng));
    }
    if rng.chance(20) {
        payload.truncate(rng.below(payload.len() + 1));
    } else if rng.chance(60) {
        payload.resize(payload.len().next_multiple_of(8), 0);
    }
    GeneratedRecord { class, id, wide, big_endian, payload }
}

fn byte(rng: &mut Rng) -> u8 {
    match rng.below(5) {
        0 => 0,
        1 => rng.below(4) as u8,
        2 => b' ' + rng.below(95) as u8,
        3 => *rng.pick(&[0x7f, 0x80, 0xff, b'\t', b'\n', b'\r', 0x1b]),
        _ => rng.bits() as u8,
    }
}

/// Payload for one key, with values that its enums and masks test.
fn payload(rng: &mut Rng, key: &KeyModel, wide: bool, big_endian: bool) -> Vec<u8> {
    let offset = if wide { key.wide_offset } else { key.offset };
    let mut bytes: Vec<u8> = (0..offset.min(32)).map(|_| byte(rng)).collect();
    for field in &key.fields {
        if field.size == 0 {
            bytes.extend((0..rng.below(9)).map(|_| byte(rng)).filter(|byte| *byte != 0).collect::<Vec<_>>());
            bytes.extend([0].iter().filter(|_| rng.chance(93)));
        }
        for _ in 0..(field.count).min(64) * usize::from(field.size > 0) {
            let value = match rng.below(10) {
                0..5 if !field.values.is_empty() => *rng.pick(&field.values),
                0..7 => *rng.pick(&EDGES) as u64,
                _ => rng.bits() >> rng.below(64),
            };
            let size = field.size as usize;
            match big_endian {
                true => bytes.extend(&value.to_be_bytes()[8 - size..]),
                false => bytes.extend(&value.to_le_bytes()[..size]),
            }
        }
    }
    bytes
}

/// Writes one file.
struct Writer<'w> {
    rng: &'w mut Rng,
    keys: &'w mut Vec<KeyModel>,
    /// True if the current child of the root may be invalid.
    faulty: bool,
}

/// Name and unescaped value of an attribute.
type Attribute = (&'static str, String);

impl Writer<'_> {
    fn file(&mut self) -> String {
        let mut text = String::new();
        let root = *self.rng.pick(&["eventdefinitions", "eventdefinitions", "eventdefinition", "eventformatting"]);
        text += if self.rng.chance(10) { "\u{feff}" } else { "" };
        text += *self.rng.pick(&["", "", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", "<?xml version='1.0'?>"]);
        if self.rng.chance(10) {
            let _ = writeln!(text, "<!DOCTYPE {root}>");
        }
        let _ = writeln!(text, "<{root}>");
        for _ in 0..1 + self.rng.below(5) {
            text += *self.rng.pick(&["  ", "  ", "", "\t", "<!-- a <comment> -->", "<?go on?>", "\n\n"]);
            self.faulty = self.rng.chance(12);
            text += &if self.rng.chance(75) { self.datakey() } else { self.eventclass() };
        }
        let _ = write!(text, "</{root}>");
        if self.rng.chance(5) { text.replace('\n', "\r\n") } else { text }
    }

    /// Start tag with its attributes in random order.
    fn tag(&mut self, name: &str, mut attributes: Vec<Attribute>) -> String {
        if self.rng.chance(2) {
            attributes.push((*self.rng.pick(&["unit", "Name", "strings"]), "x".into()));
        }
        let mut text = format!("<{name}");
        while !attributes.is_empty() {
            let (name, value) = attributes.swap_remove(self.rng.below(attributes.len()));
            let blank = *self.rng.pick(&[" ", " ", " ", "\n      ", "\t"]);
            let equals = *self.rng.pick(&["=", "=", "=", " = "]);
            let value = value
                .replace('&', "&amp;")
                .replace('<', "&lt;")
                .replace('\t', "&#9;")
                .replace('\n', "&#xa;")
                .replace('\r', "&#13;");
            let value = match value.contains('"') && !value.contains('\'') && self.rng.chance(50) {
                true => format!("'{value}'"),
                false => format!("\"{}\"", value.replace('"', "&quot;")),
            };
            let _ = write!(text, "{blank}{name}{equals}{value}");
        }
        text
    }

    /// Empty element.
    fn empty(&mut self, name: &str, attributes: Vec<Attribute>) -> String {
        let tag = self.tag(name, attributes);
        let end = *self.rng.pick(&["/>\n", " />\n", "/>"]);
        if self.rng.chance(3) { format!("{tag}></{name}>\n") } else { format!("{tag}{end}") }
    }

    /// Number in a random spelling.
    fn number(&mut self, value: i128) -> String {
        let (sign, size) = if value < 0 { ("-", -value) } else { ("", value) };
        let digits = match self.rng.below(8) {
            0 => format!("{sign}0{size}"),
            1..4 => format!("{sign}{size:#x}"),
            4 => format!("{sign}0x0{size:X}"),
            _ => format!("{sign}{size}"),
        };
        if self.rng.chance(15) { format!(" {digits} ") } else { digits }
    }

    /// Number with an optional `!`.
    fn literal(&mut self, value: i128, not: usize) -> String {
        let number = self.number(value);
        let not = if self.rng.chance(not) { *self.rng.pick(&["!", " !", "! "]) } else { "" };
        format!("{not}{number}")
    }

    /// Number for a field of `size` bytes.
    fn value(&mut self, size: u32) -> i128 {
        match self.rng.below(12) {
            0 => i128::from(self.rng.bits()),
            1 => -(self.rng.below(300) as i128),
            2..4 => i128::from(self.rng.bits()) & ((1 << (8 * size)) - 1),
            _ => *self.rng.pick(&EDGES),
        }
    }

    fn class(&mut self, class: u8) -> String {
        let name = match class {
            2 => "KER_CALL",
            5 => *self.rng.pick(&["SYSTEM", "13"]),
            6 => "USER",
            7 => "COMM",
            10 => "QVM",
            _ => "",
        };
        if name.is_empty() || self.rng.chance(80) { self.number(class.into()) } else { name.into() }
    }

    /// Decides whether to generate an invalid part here.
    fn fault(&mut self) -> bool {
        self.faulty && self.rng.chance(6)
    }

    fn label(&mut self, label: &str) -> String {
        let blank = *self.rng.pick(&[" ", " ", "  ", "\t", "\n"]);
        label.replace(' ', blank)
    }

    /// Format with its fields.
    fn format(&mut self, arrays: bool) -> (String, Vec<FieldModel>) {
        let mut text = String::from(if self.rng.chance(20) { " " } else { "" });
        let mut labels = LABELS.to_vec();
        let mut fields = Vec::new();
        for _ in 0..1 + self.rng.below(5) {
            let at = self.rng.below(labels.len());
            let label = labels.swap_remove(at);
            let (spec, size, count) = self.spec(arrays);
            let blank = *self.rng.pick(&[" ", " ", "  ", "\t"]);
            let end = *self.rng.pick(&["", " ", "  "]);
            let shown = self.label(label);
            let _ = write!(text, "%{spec}{blank}{shown}{end}");
            let is_number = size > 0 && count == 1 && !spec.ends_with('c');
            fields.push(FieldModel { label, size, count, is_number, values: Vec::new() });
        }
        if self.fault() {
            let fault = *self.rng.pick(&["%", "%x", "%9z q", "%x a%x a", "%2u0 q", "%xq", "%1u3d list", "%4u2c w"]);
            text += fault;
        } else if self.fault() {
            text.insert_str(0, "text ");
        }
        (text, fields)
    }

    /// Size, sign, count and format of one field; the bytes of an item; and the number of items.
    fn spec(&mut self, arrays: bool) -> (String, u32, usize) {
        if self.rng.chance(12) {
            return ((*self.rng.pick(&["1s0", "1u0", "1s0", "10", "s"])).into(), 0, 1);
        }
        let size = *self.rng.pick(&["1", "1", "2", "4", "8", ""]);
        let sign = *self.rng.pick(&["u", "s", ""]);
        let bytes = size.parse().unwrap_or(4);
        let fmt = *self.rng.pick(&["d", "x", "x", "o", "c", ""]);
        if arrays && self.rng.chance(30) && (fmt != "c" || bytes == 1) {
            let most = if self.rng.chance(10) { 30 } else { 4 };
            let count = 2 + self.rng.below(most);
            let count = if self.rng.chance(2) { 1 << (7 + self.rng.below(20)) } else { count };
            // Without size and sign, a first digit could be read as the size.
            let sign = if size.is_empty() && sign.is_empty() { "u" } else { sign };
            return (format!("{size}{sign}{count}{fmt}"), bytes, count);
        }
        let count = match size.is_empty() && sign.is_empty() {
            true => "",
            false => *self.rng.pick(&["1", "1", ""]),
        };
        let spec = format!("{size}{sign}{count}{fmt}");
        // `s` alone would be a string.
        if spec.is_empty() || spec == "s" { ("x".into(), 4, 1) } else { (spec, bytes, 1) }
    }

    fn eventclass(&mut self) -> String {
        let class = self.rng.pick(&EVENTS).0;
        let mut attributes = vec![("id", self.class(class))];
        if self.rng.chance(50) {
            attributes.push(("name", "Events".into()));
        }
        let bad = self.fault();
        if bad {
            attributes.remove(0);
        }
        let mut text = format!("{}>\n", self.tag("eventclass", attributes));
        for _ in 0..1 + self.rng.below(3) {
            let attribute = if self.rng.chance(15) { "format" } else { "sformat" };
            let (format, fields) = self.format(attribute == "sformat");
            let id = *self.rng.pick(&[65, 65, 1, 523, 1023, 0]);
            let mut attributes = vec![("id", self.number(id.into())), (attribute, format)];
            if self.fault() {
                attributes.swap_remove(self.rng.below(2));
            }
            text += &self.empty("event", attributes);
            self.keys.push(KeyModel { events: vec![(class, id)], fields, ..KeyModel::default() });
        }
        text + "</eventclass>\n"
    }

    fn datakey(&mut self) -> String {
        let arrays = self.rng.chance(20);
        let (format, fields) = self.format(arrays);
        let mut key = KeyModel { fields, ..KeyModel::default() };
        let mut attributes = vec![(if arrays { "sformat" } else { "format" }, format)];
        if self.rng.chance(40) {
            key.offset = *self.rng.pick(&[0, 1, 2, 3, 4, 8, 12, 100, 1 << 32, u64::MAX]);
            attributes.push(("offset", self.number(key.offset.into())));
        }
        key.wide_offset = key.offset;
        if self.rng.chance(30) {
            key.wide_offset = *self.rng.pick(&[0, 1, 2, 4, 16]);
            attributes.push(("wide_offset", self.number(key.wide_offset.into())));
        }
        if self.rng.chance(40) {
            attributes.push(("show_masked_value", (*self.rng.pick(&["false", "FALSE", "true", " false\n"])).into()));
        }
        if self.fault() {
            let (name, value) = *self.rng.pick(&[("wide_offsets", "-1"), ("show_masked_values", "no")]);
            attributes.push((name, value.into()));
        }
        let comment = if !self.faulty && self.rng.chance(25) { self.comment(&key.fields) } else { String::new() };
        comment + &self.finish_datakey(attributes, key)
    }

    /// `fields` comment with valid entries.
    fn comment(&mut self, fields: &[FieldModel]) -> String {
        const CODES: [&str; 12] = ["U1", "U2", "U4", "U8", "D1", "D4", "D8", "X4", "X8", "o4", "T4", "E4"];
        let mut entries = Vec::new();
        for field in fields {
            let n = self.keys.len();
            let name = format!("c{n}_{}", entries.len());
            entries.push(match self.rng.below(6) {
                0 => "-".into(),
                1 => "*".into(),
                2 | 3 if field.is_number => format!("{name}:{}", self.rng.pick(&CODES)),
                _ => name,
            });
        }
        entries.truncate(1 + self.rng.below(entries.len()));
        format!("<!-- tfbc: fields={} -->\n", entries.join(", "))
    }

    fn finish_datakey(&mut self, attributes: Vec<Attribute>, mut key: KeyModel) -> String {
        let mut children = Vec::new();
        for _ in 0..1 + self.rng.below(3) {
            let (class, id) = *self.rng.pick(&EVENTS);
            key.events.push((class, id));
            let mut attributes = vec![("class", self.class(class)), ("id", self.number(id.into()))];
            if self.fault() {
                attributes.swap_remove(self.rng.below(2));
            } else if self.fault() {
                attributes[0].1 = "32".into();
            }
            children.push(self.empty("event", attributes));
        }
        let alone = key.fields.len() == 1;
        for field in &mut key.fields {
            // Elements for numbers are used on strings and arrays only as a fault.
            if (field.size == 0 || field.count > 1) && !self.fault() {
                continue;
            }
            self.of_field(field, alone, &mut children);
        }
        if self.rng.chance(45) {
            for _ in 0..1 + self.rng.below(2) {
                let condition = self.condition(&key);
                children.push(condition);
            }
        }
        if self.rng.chance(40) {
            for at in (1..children.len()).rev() {
                children.swap(at, self.rng.below(at + 1));
            }
        }
        let text = format!("{}>\n    {}  </datakey>\n", self.tag("datakey", attributes), children.join("    "));
        self.keys.push(key);
        text
    }

    /// Attribute that names a field.
    fn name(&mut self, label: &str, alone: bool) -> Vec<Attribute> {
        if alone && self.rng.chance(30) {
            return Vec::new();
        }
        let label = if self.fault() { "nowhere".into() } else { self.label(label) };
        vec![(if self.rng.chance(70) { "name" } else { "key" }, label)]
    }

    /// Bitmasks and enums of a field.
    fn of_field(&mut self, field: &mut FieldModel, alone: bool, children: &mut Vec<String>) {
        let size = field.size.max(1);
        let mut shift = 0;
        if self.rng.chance(20) {
            for _ in 0..1 + usize::from(self.rng.chance(25)) {
                let mask = match self.rng.below(4) {
                    0 => self.value(size),
                    1 => 0xff << self.rng.below(8 * size as usize),
                    _ => *self.rng.pick(&[0xf, 0xf0, 0xff, 0xff00, 0xffff, 0x8000, 0x7f, -1, -2, 0x80, 3]),
                };
                let mask = mask.clamp(i128::from(i64::MIN), i128::from(u64::MAX));
                shift = mask.trailing_zeros() % 64;
                let mut attributes = self.name(field.label, alone);
                attributes.push(("value", self.number(mask)));
                children.push(self.empty("bitmask", attributes));
            }
        }
        for (is_mask, value) in self.values(size) {
            field.values.push((value as u64) << shift);
            let mut attributes = self.name(field.label, alone);
            let not = if is_mask { 20 } else { 6 };
            attributes.push((if is_mask { "mask" } else { "value" }, self.literal(value, not)));
            let string = format!("{}{}", self.rng.pick(&STRINGS), self.rng.below(10));
            attributes.push(("string", string));
            if self.fault() {
                attributes.swap_remove(self.rng.below(attributes.len()));
            }
            children.push(self.empty("enum", attributes));
        }
        if self.rng.chance(25) {
            let mut attributes = self.name(field.label, alone);
            attributes.push(("default", format!("{}_default", self.rng.pick(&STRINGS))));
            children.push(self.empty("enum", attributes));
        }
    }

    /// Masks and values of a field's enums.
    fn values(&mut self, size: u32) -> Vec<(bool, i128)> {
        let most = (1i128 << (8 * size)) - 1;
        match self.rng.below(24) {
            0..10 => Vec::new(),
            10..18 => (0..1 + self.rng.below(8)).map(|_| (self.rng.chance(35), self.value(size))).collect(),
            18..20 => {
                let from = self.rng.below(40) as i128 - 5;
                (from..from + 5 + self.rng.below(60) as i128).map(|value| (false, value)).collect()
            }
            20..22 => (0..10 + self.rng.below(60)).map(|_| (false, i128::from(self.rng.bits()) & most)).collect(),
            22 => {
                (0..200 + self.rng.below(200) as i128).map(|value| (self.rng.chance(1), (value * 3) & most)).collect()
            }
            _ => (0..20 + self.rng.below(30)).map(|_| (self.rng.chance(30), self.value(size))).collect(),
        }
    }

    fn condition(&mut self, key: &KeyModel) -> String {
        let others: Vec<&FieldModel> = self.keys.iter().flat_map(|key| &key.fields).collect();
        let (label, values) = match self.rng.below(20) {
            0 => ("nowhere", Vec::new()),
            1 => (key.fields[0].label, Vec::new()),
            2..7 => (*self.rng.pick(&LABELS), Vec::new()),
            _ => match others.get(self.rng.below(others.len())) {
                Some(field) if field.size > 0 && field.count == 1 => (field.label, field.values.clone()),
                _ => (*self.rng.pick(&LABELS), Vec::new()),
            },
        };
        let mut attributes = vec![(if self.rng.chance(70) { "name" } else { "key" }, self.label(label))];
        let kind = self.rng.below(3);
        for (at, name) in ["value", "mask"].into_iter().enumerate() {
            if kind == at || kind == 2 {
                let value = match values.is_empty() || self.rng.chance(40) {
                    true => *self.rng.pick(&EDGES),
                    false => i128::from(*self.rng.pick(&values)),
                };
                attributes.push((name, self.literal(value, 50)));
            }
        }
        // A condition without a name is valid only if the format has one label.
        let may_lack_name = key.fields.len() == 1 && self.rng.chance(10);
        if may_lack_name || self.fault() {
            attributes.swap_remove(0);
        }
        self.empty("condition", attributes)
    }
}
