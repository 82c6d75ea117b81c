package workspace

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/greenwright/greenwright/agent/tool"
)

// Encoding is how a file's bytes stand for text.
type Encoding string

// The closed set of encodings. Raw is text in an unknown single-byte or broken
// encoding: its body is the bytes themselves.
const (
	UTF8    Encoding = "utf-8"
	UTF16LE Encoding = "utf-16le"
	UTF16BE Encoding = "utf-16be"
	Raw     Encoding = "raw"
)

// Text is a file decoded so that [Text.Encode] gives the same bytes back.
type Text struct {
	Body     string // without BOM; line ends as they are
	Encoding Encoding
	BOM      bool
}

// sniffed is how many bytes are searched for a NUL, as git does.
const sniffed = 8000

// Decode reads bytes strictly. Binary content is a [FaultError].
func Decode(data []byte) (Text, error) {
	switch {
	case bytes.HasPrefix(data, []byte{0xef, 0xbb, 0xbf}) && utf8.Valid(data):
		return Text{Body: string(data[3:]), Encoding: UTF8, BOM: true}, nil
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		if body, ok := decode16(data[2:], binary.LittleEndian); ok {
			return Text{Body: body, Encoding: UTF16LE, BOM: true}, nil
		}
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		if body, ok := decode16(data[2:], binary.BigEndian); ok {
			return Text{Body: body, Encoding: UTF16BE, BOM: true}, nil
		}
	}
	if bytes.IndexByte(data[:min(len(data), sniffed)], 0) >= 0 {
		return Text{}, faultf(tool.CodeBinaryFile, "the file is binary")
	}
	if !utf8.Valid(data) {
		return Text{Body: string(data), Encoding: Raw}, nil
	}
	return Text{Body: string(data), Encoding: UTF8}, nil
}

// decode16 refuses what would not encode back to the same units.
func decode16(data []byte, order binary.ByteOrder) (string, bool) {
	if len(data)%2 != 0 {
		return "", false
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	body := string(utf16.Decode(units))
	return body, bytes.Equal(encode16(body, order), data)
}

func encode16(body string, order binary.ByteOrder) []byte {
	units := utf16.Encode([]rune(body))
	data := make([]byte, 2*len(units))
	for i, u := range units {
		order.PutUint16(data[2*i:], u)
	}
	return data
}

// Encode returns the bytes of the text with another body.
func (t Text) Encode(body string) []byte {
	switch t.Encoding {
	case UTF16LE:
		return append([]byte{0xff, 0xfe}, encode16(body, binary.LittleEndian)...)
	case UTF16BE:
		return append([]byte{0xfe, 0xff}, encode16(body, binary.BigEndian)...)
	case UTF8, Raw:
	}
	if t.BOM {
		return append([]byte{0xef, 0xbb, 0xbf}, body...)
	}
	return []byte(body)
}

// SplitLines cuts body after each newline; a last line without one counts, an
// empty rest does not. Carriage returns stay.
func SplitLines(body string) []string {
	lines := strings.SplitAfter(body, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// ShowLine is a line of a file as the model sees it: without its line end, and
// with a lone carriage return and [Hidden] characters made visible instead of
// acting on the text.
func ShowLine(line string) string {
	line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	if strings.Contains(line, "\r") {
		line = strings.ReplaceAll(line, "\r", "␍")
	}
	if !strings.ContainsFunc(line, Hidden) {
		return line
	}
	var b strings.Builder
	for at := 0; at < len(line); {
		r, size := utf8.DecodeRuneInString(line[at:])
		if Hidden(r) {
			fmt.Fprintf(&b, HiddenMark+"%04X⟩", r)
		} else {
			b.WriteString(line[at : at+size])
		}
		at += size
	}
	return b.String()
}

// HiddenMark is how the mark of a hidden character begins: ⟨U+202E⟩.
const HiddenMark = "⟨U+"

// Hidden tells the characters that make text look other than it is: those that
// change its direction, and tags, which are letters that are not drawn.
func Hidden(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r >= 0xe0000 && r <= 0xe007f
}
