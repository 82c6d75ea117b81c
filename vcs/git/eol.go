package git

import "bytes"

// eolRule is how line ends are converted between a blob and a file. The zero
// value converts nothing. Configuration (core.autocrlf, core.eol) is not
// consulted: lines end in LF unless attributes say otherwise.
type eolRule struct {
	text bool // a blob has LF only
	auto bool // text, if the content looks like it and the blob has no CRLF
	crlf bool // the file has CRLF
}

// eolOf reads the rule from attributes, as convert.c of git does: eol implies
// text, "crlf" is the old name of text.
func eolOf(attrs map[string]string) eolRule {
	text, ok := attrs["text"]
	if !ok {
		text, ok = attrs["crlf"]
	}
	eol := attrs["eol"]
	switch {
	case ok && text == attrUnset:
		return eolRule{}
	case ok && text == "auto":
		return eolRule{text: true, auto: true, crlf: eol == "crlf"}
	case ok && text == "input":
		return eolRule{text: true}
	case ok && text == attrSet:
		return eolRule{text: true, crlf: eol == "crlf"}
	case eol == "crlf" || eol == "lf":
		return eolRule{text: true, crlf: eol == "crlf"}
	}
	return eolRule{}
}

// lineStats counts what git's heuristics ask for.
type lineStats struct {
	nul, loneCR, loneLF, crlf int
	printable, control        int
}

func gatherStats(b []byte) lineStats {
	var s lineStats
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '\r' && i+1 < len(b) && b[i+1] == '\n':
			s.crlf++
			i++
		case c == '\r':
			s.loneCR++
		case c == '\n':
			s.loneLF++
		case c == 0:
			s.nul++
			s.control++
		case c == 0x7f:
			s.control++
		case c < ' ' && c != '\b' && c != '\t' && c != 0x1b && c != '\f':
			s.control++
		default:
			s.printable++
		}
	}
	if len(b) > 0 && b[len(b)-1] == 0x1a { // the end mark of DOS files
		s.control--
	}
	return s
}

// binary is git's convert_is_binary: a lone CR, a NUL, or more than one
// control character in 128.
func (s lineStats) binary() bool {
	return s.loneCR > 0 || s.nul > 0 || s.printable>>7 < s.control
}

// smudge gives the file's bytes for a blob's.
func (r eolRule) smudge(blob []byte) []byte {
	if !r.crlf || len(blob) == 0 {
		return blob
	}
	s := gatherStats(blob)
	if s.loneLF == 0 || r.auto && (s.loneCR > 0 || s.crlf > 0 || s.binary()) {
		return blob
	}
	out := make([]byte, 0, len(blob)+s.loneLF)
	for i, c := range blob {
		if c == '\n' && (i == 0 || blob[i-1] != '\r') {
			out = append(out, '\r')
		}
		out = append(out, c)
	}
	return out
}

// clean gives the blob's bytes for a file's; blob returns what the base tree
// has at the path, and is only asked where it matters.
func (r eolRule) clean(file []byte, blob func() ([]byte, error)) ([]byte, error) {
	if !r.text || !bytes.Contains(file, []byte("\r\n")) {
		return file, nil
	}
	if r.auto {
		if gatherStats(file).binary() {
			return file, nil
		}
		old, err := blob()
		if err != nil {
			return nil, err
		}
		if s := gatherStats(old); s.crlf > 0 && !s.binary() {
			return file, nil
		}
	}
	return bytes.ReplaceAll(file, []byte("\r\n"), []byte("\n")), nil
}
