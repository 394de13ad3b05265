#!/usr/bin/env python3
"""Writes the same events as an AIX trace, a CTF trace and a trace.dat: 40 kinds, four words each, one CPU.

    peers.py DIRECTORY EVENTS

DIRECTORY then holds peers.trc and peers.trcfmt, ctf/ and trace.dat. Little more is written than readers ask for.
"""

import os
import struct
import sys

KINDS = 40
PAGE = 4096
MEAN_NS = 1000


def events(n):
    """Kind, time in ns, and words."""
    state = 1
    mask = (1 << 64) - 1
    time = 1_000_000
    for _ in range(n):
        state = (state * 6364136223846793005 + 1442695040888963407) & mask
        time += 1 + (state >> 33) % (2 * MEAN_NS)
        word = state >> 11
        yield (state >> 40) % KINDS, time, word, word >> 20, word & 0xFFFFF, state >> 32


def aix(path, n):
    event = struct.Struct(">7Q").pack
    with open(path + ".trc", "wb", 1 << 20) as out:
        out.write(bytes.fromhex("efdf1114"))
        out.write(event(0xC000_0018_00A0_0000, 0x25C, 1, 1, 2, 1, 0))
        for kind, time, *words in events(n):
            out.write(event(0x8000_0020_1000_0000 | kind << 20, *words, 1, time))
    with open(path + ".trcfmt", "w") as out:
        for kind in range(KINDS):
            words = " ".join(f'"{name}=0x" $D{i}%X8' for i, name in enumerate("abcd", 1))
            out.write(f'{0x100 + kind:X} 1.0 L=APPL "event{kind}:" {words}\n')


def ctf(directory, n):
    os.makedirs(directory, exist_ok=True)
    types = "typealias integer { size = %d; align = 8; signed = false; base = %s; } := %s;\n"
    text = "/* CTF 1.8 */\n"
    for size, base, name in [(16, "10", "u16"), (32, "10", "u32"), (64, "10", "u64"), (64, "16", "x64")]:
        text += types % (size, base, name)
    text += """trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; u32 stream_id; }; };
clock { name = c; freq = 1000000000; };
typealias integer { size = 64; align = 8; signed = false; map = clock.c.value; } := stamp;
stream {
    id = 0;
    packet.context := struct { u64 content_size; u64 packet_size; stamp timestamp_begin; stamp timestamp_end; };
    event.header := struct { u16 id; stamp timestamp; };
};
"""
    for kind in range(KINDS):
        text += f"event {{ name = event{kind}; id = {kind}; stream_id = 0; "
        text += "fields := struct { x64 a; x64 b; x64 c; x64 d; }; };\n"
    with open(directory + "/metadata", "w") as out:
        out.write(text)
    event = struct.Struct("<H5Q").pack
    with open(directory + "/stream", "wb", 1 << 20) as out:
        part, first, last = [], 0, 0

        def flush():
            bits = 8 * (40 + 42 * len(part))
            out.write(struct.pack("<IIQQQQ", 0xC1FC1FC1, 0, bits, bits, first, last) + b"".join(part))
            part.clear()

        for kind, time, *words in events(n):
            first = first if part else time
            last = time
            part.append(event(kind, time, *words))
            if len(part) == 5000:
                flush()
        if part:
            flush()


def trace_dat(path, n):
    page_head = """	field: u64 timestamp;	offset:0;	size:8;	signed:0;
	field: local_t commit;	offset:8;	size:8;	signed:1;
	field: int overwrite;	offset:8;	size:1;	signed:1;
	field: char data;	offset:16;	size:4080;	signed:0;
"""
    event_head = """# compressed entry header
	type_len    :    5 bits
	time_delta  :   27 bits
	array       :   32 bits

	padding     : type == 29
	time_extend : type == 30
	time_stamp : type == 31
	data max type_len  == 28
"""

    def form(kind):
        fields = [("unsigned short", "common_type", 0, 2, 0), ("unsigned char", "common_flags", 2, 1, 0),
                  ("unsigned char", "common_preempt_count", 3, 1, 0), ("int", "common_pid", 4, 4, 1)]
        fields += [("u64", name, 8 + 8 * i, 8, 0) for i, name in enumerate("abcd")]
        lines = [f"\tfield:{t} {name};\toffset:{at};\tsize:{size};\tsigned:{signed};\n" for t, name, at, size, signed in fields]
        shown = " ".join(f"{name}=0x%016llx" for name in "abcd")
        values = ", ".join(f"REC->{name}" for name in "abcd")
        head = "".join(lines[:4]) + "\n" + "".join(lines[4:])
        return f'name: event{kind}\nID: {1000 + kind}\nformat:\n{head}\nprint fmt: "{shown}", {values}\n'

    def sized(text, form="<Q"):
        return struct.pack(form, len(text)) + text.encode()

    head = bytes([0x17, 0x08, 0x44]) + b"tracing6\0" + struct.pack("<BBI", 0, 8, PAGE)
    head += b"header_page\0" + sized(page_head) + b"header_event\0" + sized(event_head)
    head += struct.pack("<I", 0) + struct.pack("<I", 1) + b"peers\0" + struct.pack("<I", KINDS)
    head += b"".join(sized(form(kind)) for kind in range(KINDS))
    head += struct.pack("<II", 0, 0) + sized("1 peers\n")
    head += struct.pack("<I", 1) + b"options  \0" + struct.pack("<H", 0) + b"flyrecord\0"
    start = (len(head) + 16 + PAGE - 1) // PAGE * PAGE
    event = struct.Struct("<IHBBi4Q").pack
    with open(path, "wb", 1 << 20) as out:
        out.write(head + struct.pack("<QQ", start, 0))
        out.write(bytes(start - out.tell()))
        part, first, last = [], 0, 0

        def flush():
            data = b"".join(part)
            out.write((struct.pack("<QQ", first, len(data)) + data).ljust(PAGE, b"\0"))
            part.clear()

        for kind, time, *words in events(n):
            if not part:
                first = last = time
            part.append(event((time - last) << 5 | 10, 1000 + kind, 0, 0, 1, *words))
            last = time
            if len(part) == 92:
                flush()
        if part:
            flush()
        size = out.tell() - start
        out.seek(len(head))
        out.write(struct.pack("<QQ", start, size))


directory, n = sys.argv[1], int(sys.argv[2])
os.makedirs(directory, exist_ok=True)
aix(directory + "/peers", n)
ctf(directory + "/ctf", n)
trace_dat(directory + "/trace.dat", n)
