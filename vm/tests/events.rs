//! Fields of an event's header (id, type, data, length, environment) for 32- and 64-bit hooks, whole and cut, and for
//! records.

use tfbc_vm::{Env, Event, RecordHeader, Space};

fn hook(bytes: &[u8], wide: bool) -> Event<'_> {
    Event { bytes, wide, record: None, time_ns: 0, offset: 0 }
}

/// (id, type, data, announced length, environment).
fn header(bytes: &[u8], wide: bool) -> (u16, u16, u16, u32, Env) {
    let event = hook(bytes, wide);
    (event.hook_id(), event.hook_type(), event.hook_data(), event.hook_len(), event.env())
}

#[test]
fn narrow_hook_word_is_id_type_and_data() {
    // The low three bits of the type count words, including the hook word.
    assert_eq!(header(&[0x12, 0x3a, 0x45, 0x67], false), (0x1230, 10, 0x4567, 4, Env::Hook32));
    assert_eq!(header(&[0x12, 0x3f, 0x45, 0x67], false), (0x1230, 15, 0x4567, 24, Env::Hook32));
    assert_eq!(header(&[0x12, 0x39, 0x45, 0x67, 9], false), (0x1230, 9, 0x4567, 0, Env::Hook32));
    // No words means a generic hook, whose data is the length.
    assert_eq!(header(&[0x12, 0x38, 0x01, 0x02], false), (0x1230, 8, 0x0102, 0x0102, Env::Generic32));
    assert_eq!(header(&[0x12, 0x30, 0x01, 0x02], false), (0x1230, 0, 0x0102, 0x0102, Env::Generic32));
}

#[test]
fn wide_hook_word_is_flags_length_id_and_data() {
    let word = [0x80, 0x21, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab];
    assert_eq!(header(&word, true), (0x4567, 0x8021, 0x89ab, 0x0123, Env::Hook64));
    let word = [0x40, 0x21, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xff];
    assert_eq!(header(&word, true), (0x4567, 0x4021, 0x89ab, 0x0123, Env::Generic64));
}

#[test]
fn missing_bytes_are_zeros() {
    for (wide, word) in [(false, &[0x12, 0x3a, 0x45, 0x67][..]), (true, &[0x80, 0x21, 1, 0x23, 0x45, 0x67, 0x89, 0xab])]
    {
        for len in 0..word.len() {
            let mut zeroed = word.to_vec();
            zeroed[len..].fill(0);
            assert_eq!(header(&word[..len], wide), header(&zeroed, wide), "{len} bytes");
        }
    }
}

#[test]
fn records_have_a_byte_order_and_a_form() {
    for (wide, big_endian, env) in [
        (false, false, Env::SimpleLittle),
        (true, false, Env::WideLittle),
        (false, true, Env::SimpleBig),
        (true, true, Env::WideBig),
    ] {
        let record = Some(RecordHeader { event: 1, big_endian });
        assert_eq!(Event { record, ..hook(&[0xff; 8], wide) }.env(), env);
        assert_eq!((env.little_endian(), env.combine(), env.generic(), env.word()), (!big_endian, wide, false, 4));
    }
}

#[test]
fn environments_are_distinguished() {
    for space in Space::ALL {
        for (at, env) in space.envs().into_iter().enumerate() {
            assert_eq!(env.index(), at);
            assert_eq!(env.generic(), matches!(env, Env::Generic32 | Env::Generic64));
            assert_eq!(env.word() == 8, matches!(env, Env::Hook64 | Env::Generic64));
            let is_record = matches!(space, Space::Record | Space::RecordFields);
            assert_eq!(env.little_endian(), is_record && at < 2);
            assert_eq!(env.combine(), is_record && at % 2 == 1);
        }
    }
    let names: std::collections::BTreeSet<_> = Env::ALL.into_iter().map(Env::name).collect();
    assert_eq!(names.len(), 8);
    assert_eq!(Env::Generic64.name(), "generic64");
}

#[test]
fn ids_of_records_are_class_and_event() {
    assert_eq!(Space::record_id(0, 0), 0);
    assert_eq!(Space::record_id(6, 65), 6 << 10 | 65);
    assert_eq!(Space::record_id(31, 1023), 0x7fff);
    // Five bits of class and ten of event.
    assert_eq!(Space::record_id(33, 1024 + 5), 1 << 10 | 5);
}
