package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/greenwright/greenwright/sandbox/redact"
)

const (
	secret = "tOp/s3cr3t+Value=42"
	second = "another_known-secret"
	key    = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAxyz0123456789abcdefghijklmnop\nqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/==\n-----END RSA PRIVATE KEY-----\n"
)

func redactor(t testing.TB, opts ...redact.Option) *redact.Redactor {
	t.Helper()
	r, err := redact.New([]redact.Secret{{Name: "TOKEN", Value: secret}, {Value: second}, {Name: "EMPTY"}}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// split writes a text in pieces that end at the given places.
func split(t testing.TB, r *redact.Redactor, text string, at ...int) string {
	t.Helper()
	var out bytes.Buffer
	w := r.Writer(&out)
	from := 0
	for _, to := range append(at, len(text)) {
		if n, err := io.WriteString(w, text[from:to]); n != to-from || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
		from = to
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// everySplit demands the same output however the text is split.
func everySplit(t *testing.T, r *redact.Redactor, text string) string {
	t.Helper()
	want := r.String(text)
	for i := range text {
		if got := split(t, r, text, i); got != want {
			t.Fatalf("split at %d (%q | %q)\n got %q\nwant %q", i, text[:i], text[i:], got, want)
		}
	}
	single := make([]int, len(text))
	for i := range single {
		single[i] = i
	}
	if got := split(t, r, text, single...); got != want {
		t.Fatalf("byte by byte\n got %q\nwant %q", got, want)
	}
	return want
}

func between(text, what string) string { return strings.Join(strings.Split(text, ""), what) }

func percent(text string) string {
	var out strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&out, "%%%02x", text[i])
	}
	return out.String()
}

func wrapped(text string, width int, with string) string {
	var out strings.Builder
	for len(text) > width {
		out.WriteString(text[:width] + with)
		text = text[width:]
	}
	return out.String() + text
}

func unicode(text string) string {
	var out strings.Builder
	for _, c := range text {
		fmt.Fprintf(&out, `\u%04X`, c)
	}
	return out.String()
}

// TestDisguises: each form of the secret alone is one marker, and nothing else.
func TestDisguises(t *testing.T) {
	r := redactor(t, redact.WithoutShapes())
	raw := []byte(secret)
	long := "user:" + secret + strings.Repeat(" and much more text", 5)
	quoted, _ := json.Marshal(secret)
	cases := map[string]string{
		"plain":              secret,
		"hex":                hex.EncodeToString(raw),
		"HEX":                strings.ToUpper(hex.EncodeToString(raw)),
		"query":              url.QueryEscape(secret),
		"path":               url.PathEscape(secret),
		"all percent":        percent(secret),
		"half percent":       secret[:5] + percent(secret[5:9]) + secret[9:],
		"json":               strings.Trim(string(quoted), `"`),
		"json slash":         strings.ReplaceAll(secret, "/", `\/`),
		"json unicode":       unicode(secret),
		"c hex":              strings.ReplaceAll(percent(secret), "%", `\x`),
		"zero width":         between(secret, "\u200b"),
		"word joiner":        between(secret, "\u2060"),
		"byte order mark":    between(secret, "\ufeff"),
		"soft hyphen":        between(secret, "\u00ad"),
		"direction":          between(secret, "\u202e"),
		"escaped zero width": between(secret, `\u200b`),
		"colour":             between(secret, "\x1b[1;31m"),
		"reset":              secret[:4] + "\x1b[0m\x1b[K" + secret[4:],
		"UTF-16":             between(secret, "\x00"),
		"backspace":          between(secret, "\x08"),
		"lines":              between(secret, "\n"),
		"CRLF":               wrapped(secret, 4, "\r\n"),
		"indented":           wrapped(secret, 4, "\n    "),
		"escaped lines":      wrapped(secret, 4, `\n`),
		"percent lines":      wrapped(secret, 4, "%0A"),
		"all at once":        secret[:3] + "\u200b" + percent(secret[3:6]) + "\x1b[32m\n\t " + unicode(secret[6:]),
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			if got := everySplit(t, r, "see <"+text+"> there"); got != "see <[redacted TOKEN]> there" {
				t.Errorf("= %q", got)
			}
		})
	}
	for _, width := range []int{64, 76, 10} {
		for before := range 3 {
			encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + long))
			got := everySplit(t, r, wrapped(encoded, width, "\n"))
			if !strings.Contains(got, "[redacted TOKEN]") || strings.Contains(strings.ReplaceAll(got, "\n", ""), core(before)) {
				t.Errorf("base64 of %d wrapped at %d: %q", before, width, got)
			}
		}
	}
}

// core is the secret's base64 behind some bytes, without its edges.
func core(before int) string {
	encoded := base64.RawStdEncoding.EncodeToString([]byte("user:"[:0] + strings.Repeat("x", (before+5)%3) + secret))
	return encoded[4 : len(encoded)-2]
}

func TestBase64InEveryAlphabetAndPlace(t *testing.T) {
	r := redactor(t, redact.WithoutShapes())
	for name, alphabet := range map[string]*base64.Encoding{
		"std": base64.StdEncoding, "raw std": base64.RawStdEncoding, "url": base64.URLEncoding, "raw url": base64.RawURLEncoding,
	} {
		for before := range 4 {
			for after := range 4 {
				text := alphabet.EncodeToString([]byte(strings.Repeat("\xff", before) + secret + strings.Repeat("\xfe", after)))
				got := everySplit(t, r, `"`+text+`"`)
				if kept := len(got) - len("[redacted TOKEN]") - 2; !strings.Contains(got, "[redacted TOKEN]") || kept > (before+after)*4/3+6 {
					t.Errorf("%s, %d before, %d after: %q of %q", name, before, after, got, text)
				}
				if again := everySplit(t, r, url.QueryEscape(text)); !strings.Contains(again, "[redacted TOKEN]") {
					t.Errorf("%s, escaped: %q", name, again)
				}
			}
		}
	}
}

func TestSeveral(t *testing.T) {
	r := redactor(t)
	cases := map[string]string{
		secret + secret:                          "[redacted TOKEN][redacted TOKEN]",
		secret + " " + second:                    "[redacted TOKEN] [redacted]",
		secret[:10] + secret:                     secret[:10] + "[redacted TOKEN]",
		secret[:len(secret)-1]:                   secret[:len(secret)-1],
		"%" + hex.EncodeToString([]byte(secret)): "%[redacted TOKEN]",
		`\` + secret:                             `\[redacted TOKEN]`,
		"":                                       "",
		"\x1b[":                                  "\x1b[",
		"%4":                                     "%4",
		`\u00`:                                   `\u00`,
		"\xe2\x80":                               "\xe2\x80",
	}
	for text, want := range cases {
		if got := everySplit(t, r, text); got != want {
			t.Errorf("%q = %q, want %q", text, got, want)
		}
		if again := r.String(want); again != want {
			t.Errorf("what was redacted is redacted again: %q", again)
		}
	}
}

func TestKeysInWholeAndByLine(t *testing.T) {
	r, err := redact.New([]redact.Secret{{Name: "KEY", Value: key}}, redact.WithoutShapes())
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Split(key, "\n")[1]
	for name, text := range map[string]string{
		"whole": key, "one line": "grep: " + line, "in JSON": strings.ReplaceAll(key, "\n", `\n`),
		"CRLF": strings.ReplaceAll(key, "\n", "\r\n"), "base64": base64.StdEncoding.EncodeToString([]byte("k=" + key)),
	} {
		got := everySplit(t, r, text)
		if !strings.Contains(got, "[redacted KEY]") || strings.Contains(got, line) {
			t.Errorf("%s = %q", name, got)
		}
	}
}

func TestSecretsThatAreTooShort(t *testing.T) {
	for _, value := range []string{"short", "1234567", "123\u200b4567", "\n\n\n\n\n\n\n\n\n"} {
		r, err := redact.New([]redact.Secret{{Name: "PIN", Value: value}, {Name: "GOOD", Value: second}})
		if r != nil || err == nil || !strings.Contains(err.Error(), "PIN") || strings.Contains(err.Error(), value) {
			t.Errorf("New(%q) = %v, %v", value, r, err)
		}
	}
}

func TestSecretPrintsAPlaceholder(t *testing.T) {
	s := redact.Secret{Name: "TOKEN", Value: secret}
	encoded, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(s), fmt.Sprintf("%+v %#v %q %s", s, s, s, []redact.Secret{s}), string(encoded), s.LogValue().String()} {
		if strings.Contains(text, secret) || !strings.Contains(text, "[redacted TOKEN]") {
			t.Errorf("printed as %s", text)
		}
	}
}

func TestNothingIsHeldBackThatIsHarmless(t *testing.T) {
	r := redactor(t)
	var out bytes.Buffer
	w := r.Writer(&out)
	for _, part := range []string{"building...\nok 12;\n", "50% done.\n", "path C:\\x.\n"} {
		before := out.Len()
		_, _ = io.WriteString(w, part)
		if got := out.String()[before:]; len(got) < len(part)-2 {
			t.Errorf("of %q only %q came", part, got)
		}
	}
}

type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

func TestErrorsOfTheWriterStay(t *testing.T) {
	full := errors.New("disk full")
	w := redactor(t).Writer(broken{full})
	for range 2 {
		if _, err := w.Write([]byte("hello, and more\n")); !errors.Is(err, full) {
			t.Errorf("Write = %v", err)
		}
	}
	if err := w.Close(); !errors.Is(err, full) {
		t.Errorf("Close = %v", err)
	}
}

func TestConcurrentUse(t *testing.T) {
	r := redactor(t)
	var out bytes.Buffer
	shared := r.Writer(&out)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if got := r.String("x " + secret); got != "x [redacted TOKEN]" {
					t.Errorf("= %q", got)
				}
				_, _ = io.WriteString(shared, secret+".")
			}
		})
	}
	wg.Wait()
	_ = shared.Close()
	if want := strings.Repeat("[redacted TOKEN].", 400); out.String() != want {
		t.Errorf("shared writer: %d bytes, want %d", out.Len(), len(want))
	}
}
