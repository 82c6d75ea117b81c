package openai

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"regexp"

	"github.com/openai/openai-go/v3/option"
)

// nullError matches an error that is none. Inside a JSON string its quotes
// would be escaped, so it matches nothing there.
var nullError = regexp.MustCompile(`"error"\s*:\s*null\s*,|,\s*"error"\s*:\s*null`)

// maxLine is the longest line of a stream, as in the SDK.
const maxLine = 32 << 20

// dropNullErrors takes "error": null out of a stream: some servers write it
// into every event, and the SDK takes any field of that name for a failure.
func dropNullErrors(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	res, err := next(req)
	if err != nil || res.StatusCode != http.StatusOK {
		return res, err
	}
	f := &nullErrorFilter{body: res.Body, lines: bufio.NewScanner(res.Body)}
	f.lines.Buffer(nil, maxLine)
	res.Body = f
	return res, nil
}

// nullErrorFilter is a body without null errors, line by line.
type nullErrorFilter struct {
	body  io.ReadCloser
	lines *bufio.Scanner
	rest  []byte
}

// Read returns what is left of the line, or the next one.
func (f *nullErrorFilter) Read(p []byte) (int, error) {
	if len(f.rest) == 0 {
		if !f.lines.Scan() {
			if err := f.lines.Err(); err != nil {
				return 0, err
			}
			return 0, io.EOF
		}
		line := f.lines.Bytes()
		if bytes.Contains(line, []byte(`"error"`)) {
			line = nullError.ReplaceAll(line, nil)
		}
		f.rest = append(append(f.rest[:0], line...), '\n')
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// Close closes the body.
func (f *nullErrorFilter) Close() error { return f.body.Close() }
