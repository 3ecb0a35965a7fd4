// Package btrfstest writes streams of btrfs for tests, also such as no kernel sends.
package btrfstest

import (
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"strings"
)

// Stream is a stream of some commands.
func Stream(commands ...[]byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte("btrfs-stream\x00"), 1)
	for _, c := range commands {
		b = append(b, c...)
	}
	return b
}

// Command is one, with its checksum.
func Command(kind uint16, attributes ...[]byte) []byte {
	var body []byte
	for _, a := range attributes {
		body = append(body, a...)
	}
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(body)))
	b = binary.LittleEndian.AppendUint16(b, kind)
	b = append(binary.LittleEndian.AppendUint32(b, 0), body...)
	sum := ^crc32.Update(^uint32(0), crc32.MakeTable(crc32.Castagnoli), b) // the kernel inverts nothing
	binary.LittleEndian.PutUint32(b[6:], sum)
	return b
}

// Text is an attribute.
func Text(kind uint16, text string) []byte {
	b := binary.LittleEndian.AppendUint16(nil, kind)
	return append(binary.LittleEndian.AppendUint16(b, uint16(len(text))), text...)
}

// Number is an attribute of 8 bytes.
func Number(kind uint16, n uint64) []byte {
	return Text(kind, string(binary.LittleEndian.AppendUint64(nil, n)))
}

// UUID is an attribute of 16 bytes.
func UUID(kind uint16, uuid string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(uuid, "-", ""))
	if err != nil {
		panic(err)
	}
	return Text(kind, string(b))
}

// Subvolume begins the stream of a whole snapshot.
func Subvolume(name, uuid string, generation uint64) []byte {
	return Command(1, Text(15, name), UUID(1, uuid), Number(2, generation))
}

// Snapshot begins the stream of one from another on.
func Snapshot(name, uuid string, generation uint64, from string, at uint64) []byte {
	return Command(2, Text(15, name), UUID(1, uuid), Number(2, generation), UUID(20, from), Number(21, at))
}

// File makes a file, in which stands its name.
func File(name string) []byte {
	return append(Command(3, Text(15, name), Number(3, 300)), Command(15, Text(15, name), Number(18, 0), Text(19, name))...)
}

// Link makes a symbolic link.
func Link(name, to string) []byte { return Command(8, Text(15, name), Number(3, 301), Text(17, to)) }

// End ends a stream.
func End() []byte { return Command(21) }
