package redact_test

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/sandbox/redact"
)

// counter keeps nothing but the length.
type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) { c.n += int64(len(p)); return len(p), nil }

// TestHostileInput: 10 MB of each trap go through in linear time and bounded
// memory.
func TestHostileInput(t *testing.T) {
	if testing.Short() {
		t.Skip("10 MB of each trap")
	}
	periodic := strings.Repeat("ab", 40) + "c"
	r, err := redact.New([]redact.Secret{
		{Value: periodic}, {Value: strings.Repeat("a", 2000) + "b"}, {Value: secret}, {Value: key},
	})
	if err != nil {
		t.Fatal(err)
	}
	encodedStart := strings.Split(key, "\n")[1]
	traps := map[string]string{
		"no newline":        "x",
		"newlines":          "\n",
		"blanks":            "\n          ",
		"periodic":          "ab",
		"almost the secret": secret[:len(secret)-1],
		"a long beginning":  "a",
		"noise":             "\u200b",
		"noise in a secret": "t\u200bO\u200bp\u200b/",
		"colours":           "\x1b[31m",
		"endless colour":    "\x1b[1;",
		"percent":           "%41",
		"half percent":      "%4",
		"backslashes":       `\`,
		"unicode":           `\u0061`,
		"half a token":      "ghp_",
		"half a JWT":        "eyJ",
		"JWT parts":         "eyJaaaaaaaaaa.",
		"JWT dots":          ".eyJ",
		"URLs":              "://",
		"userinfo":          "://aaaaaaaa:",
		"headers":           "Authorization: ",
		"bearers":           "Bearer aaaaaaaaaaaaaaaaaaaaaaaaa ",
		"keys":              "-----BEGIN PRIVATE KEY-----",
		"begins":            "-----BEGIN ",
		"dashes":            "-",
		"lines of keys":     "-----BEGIN PRIVATE KEY-----\n" + encodedStart + "\n",
		"sk-":               "sk-",
		"sk- and letters":   "sk-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.",
		"slack":             "xoxb-",
		"gitlab":            "glpat-",
		"bytes above 127":   "\xe2\x80",
		"aws":               "aws_secret_access_key=",
		"zeros":             "\x00",
	}
	for name, trap := range traps {
		t.Run(name, func(t *testing.T) {
			size := 10 << 20
			if slowed {
				size = 1 << 20
			}
			input := []byte(strings.Repeat(trap, size/len(trap)))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var out counter
			w := r.Writer(&out)
			began := time.Now()
			for part := range chunks(input, 4096) {
				_, _ = w.Write(part)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			took := time.Since(began)
			runtime.ReadMemStats(&after)
			if took > 20*time.Second {
				t.Errorf("took %v", took)
			}
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
				t.Errorf("allocated %d MiB in all", grown>>20)
			}
			t.Logf("%v, %.0f MB/s", took.Round(time.Millisecond), float64(len(input))/1e6/took.Seconds())
		})
	}
}

func chunks(b []byte, n int) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(b) > 0 {
			part := b[:min(n, len(b))]
			b = b[len(part):]
			if !yield(part) {
				return
			}
		}
	}
}

// TestDripping: byte by byte, where most is held back.
func TestDripping(t *testing.T) {
	r := redactor(t)
	var out counter
	w := r.Writer(&out)
	input := []byte("-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("A", 300_000))
	began := time.Now()
	for i := range input {
		_, _ = w.Write(input[i : i+1])
	}
	_ = w.Close()
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	if out.n < 280_000 || out.n > 300_000 {
		t.Errorf("%d bytes came out: a frame is bounded, the rest is text", out.n)
	}
}

func FuzzSplits(f *testing.F) {
	for _, seed := range []string{
		secret, percent(secret), between(secret, "\u200b"), key, "ghp_abcdefghijklmnopqrstuvwxyz0123456789\n  x",
		"%" + secret, "\\" + secret, "\x1b[31m" + secret, "eyJabcdefghij.eyJabcdefghij.x", "https://a:b@c", "Authorization: Bearer aaaaaaaaaaaaaaaaaa",
		"\n\t" + wrapped(secret, 3, "\n\t"), unicode(secret), "-----BEGIN PRIVATE KEY-----\\nAAAA",
	} {
		f.Add([]byte(seed), uint16(3), uint16(9))
	}
	r := redactor(f)
	f.Fuzz(func(t *testing.T, text []byte, i, j uint16) {
		want := r.Bytes(text)
		if bytes.Contains(want, []byte(secret)) {
			t.Fatalf("%q still has the secret", want)
		}
		a := min(int(i), len(text))
		b := min(a+int(j), len(text))
		if got := split(t, r, string(text), a, b); got != string(want) {
			t.Fatalf("%q split at %d and %d\n got %q\nwant %q", text, a, b, got, want)
		}
		single := make([]int, len(text))
		for k := range single {
			single[k] = k
		}
		if got := split(t, r, string(text), single...); got != string(want) {
			t.Fatalf("%q byte by byte\n got %q\nwant %q", text, got, want)
		}
		// Put into the text, the secret is found wherever it stands.
		mixed := string(text[:a]) + secret + string(text[a:])
		if got := r.String(mixed); strings.Contains(got, secret) {
			t.Fatalf("%q still has the secret", got)
		}
	})
}

func benchmark(b *testing.B, text string) {
	var secrets []redact.Secret
	for i := range 20 {
		secrets = append(secrets, redact.Secret{Value: letters(40+i, alnum)})
	}
	r, err := redact.New(secrets)
	if err != nil {
		b.Fatal(err)
	}
	input := []byte(strings.Repeat(text, 4<<20/len(text)))
	b.SetBytes(int64(len(input)))
	b.ReportAllocs()
	for b.Loop() {
		w := r.Writer(io.Discard)
		for part := range chunks(input, 32<<10) {
			_, _ = w.Write(part)
		}
		_ = w.Close()
	}
}

const logLine = "ok  \tgithub.com/example/project/internal/server/http\t12.345s  coverage: 81.2 of statements in ./...\n"

func BenchmarkCleanLog(b *testing.B)  { benchmark(b, logLine) }
func BenchmarkColoured(b *testing.B)  { benchmark(b, "\x1b[32m"+logLine[:40]+"\x1b[0m"+logLine[40:]) }
func BenchmarkEscapes(b *testing.B)   { benchmark(b, `{"a":"b\n","path":"x\/y","pct":"100%"},`+"\n") }
func BenchmarkOneLine(b *testing.B)   { benchmark(b, strings.TrimSpace(logLine)) }
func BenchmarkManyFinds(b *testing.B) { benchmark(b, logLine+"see "+letters(40, alnum)+"\n") }
