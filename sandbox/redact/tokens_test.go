package redact_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/sandbox/redact"
)

// letters are n characters that no secret has, of a fixed alphabet.
func letters(n int, alphabet string) string {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	out := make([]byte, n)
	for i := range out {
		out[i] = alphabet[rng.IntN(len(alphabet))]
	}
	out[n/2] = '7'
	return string(out)
}

const (
	alnum = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
)

// The tokens are put together here, so that no scanner takes this file for a
// leak.
func TestTokensAreReplaced(t *testing.T) {
	r, err := redact.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	jwt := "ey" + "JhbGciOiJIUzI1NiJ9.ey" + "JzdWIiOiIxMjM0NTYifQ." + letters(43, alnum)
	cases := map[string]string{ // what is kept has a name in brackets
		"ghp_" + letters(36, alnum) + " end":                                    "[redacted github-token] end",
		"token=ghs_" + letters(36, alnum) + "\nnext":                            "token=[redacted github-token]\nnext",
		"github_pat_" + letters(82, alnum+"_"):                                  "[redacted github-token]",
		"glpat-" + letters(20, alnum+"-_") + ",":                                "[redacted gitlab-token],",
		"glcbt-64_" + letters(20, alnum):                                        "[redacted gitlab-token]",
		"sk-ant-" + "api03-" + letters(95, alnum+"-_"):                          "[redacted anthropic-key]",
		"sk-proj-" + letters(100, alnum+"-_"):                                   "[redacted openai-key]",
		"sk-" + letters(48, alnum):                                              "[redacted openai-key]",
		"id AK" + "IA" + letters(16, upper) + ".":                               "id [redacted aws-key-id].",
		`aws_secret_access_key = ` + letters(40, alnum+"/+"):                    `aws_secret_access_key = [redacted aws-secret]`,
		`"SecretAccessKey": "` + letters(40, alnum+"/+") + `",`:                 `"SecretAccessKey": "[redacted aws-secret]",`,
		"AI" + "za" + letters(35, alnum+"-_"):                                   "[redacted google-key]",
		"ya29" + "." + letters(80, alnum+"-_"):                                  "[redacted google-token]",
		"xox" + "b-123456789012-1234567890123-" + letters(24, alnum):            "[redacted slack-token]",
		"sk_" + "live_" + letters(24, alnum) + "\n":                             "[redacted stripe-key]\n",
		"npm_" + letters(36, alnum):                                             "[redacted npm-token]",
		"pypi-" + "AgEIcHlwaS5vcmc" + letters(90, alnum+"-_"):                   "[redacted pypi-token]",
		"x " + jwt + " y":                                                       "x [redacted jwt] y",
		"Authorization: Bearer " + letters(30, alnum):                           "Authorization: Bearer [redacted authorization]",
		"< authorization: Basic dTpw\r\n":                                       "< authorization: Basic [redacted authorization]\r\n",
		`{"Authorization":"token ` + letters(40, "0123456789abcdef") + `"}`:     `{"Authorization":"token [redacted authorization]"}`,
		"Proxy-Authorization: " + letters(20, alnum) + "\n":                     "Proxy-Authorization: [redacted authorization]\n",
		`-H 'Bearer ` + letters(30, alnum) + `'`:                                `-H '[redacted bearer]'`,
		"https://someone:pass%40word@host/path":                                 "https://someone:[redacted password]@host/path",
		"https://someone:p@ss@host/path":                                        "https://someone:[redacted password]@host/path",
		"postgres://app:hunter2@db:5432/x":                                      "postgres://app:[redacted password]@db:5432/x",
		"https://" + letters(40, alnum) + "@host/":                              "https://[redacted password]@host/",
		"a\n" + key + "b":                                                       "a\n[redacted private-key]\nb",
		strings.ReplaceAll(`{"k":"`+key+`"}`, "\n", `\n`):                       `{"k":"[redacted private-key]\n"}`,
		"-----BEGIN PRIVATE KEY-----\nMIIEvQ" + "IBADANBg\n(cut)":               "[redacted private-key]\n(cut)",
		"ghp_" + "\x1b[1m" + between(letters(36, alnum), "\u200b") + "\x1b[0m!": "[redacted github-token]\x1b[0m!",
		"glued_ghp_" + letters(36, alnum):                                       "glued_[redacted github-token]",
	}
	for text, want := range cases {
		if got := everySplit(t, r, text); got != want {
			t.Errorf("%q\n got %q\nwant %q", text, got, want)
		}
		if again := r.String(want); again != want {
			t.Errorf("what was redacted is redacted again: %q", again)
		}
	}
}

func TestOrdinaryTextIsKept(t *testing.T) {
	r := redactor(t)
	image := make([]byte, 300_000)
	rng := rand.New(rand.NewChaCha8([32]byte{1}))
	for i := range image {
		image[i] = byte(rng.Uint32())
	}
	sum := sha256.Sum256(image)
	texts := []string{
		hex.EncodeToString(sum[:]), hex.EncodeToString(sum[:20]),
		"123e4567-e89b-12d3-a456-426614174000",
		base64.StdEncoding.EncodeToString(image), wrapped(base64.StdEncoding.EncodeToString(image), 76, "\n"),
		base64.URLEncoding.EncodeToString(image),
		"sha512-" + base64.StdEncoding.EncodeToString(sum[:]) + "==",
		"h1:" + base64.StdEncoding.EncodeToString(sum[:]),
		"https://example.org/a@b, http://host:8080/x and git@github.com:owner/name.git https://git@github.com/x",
		"ssh://git@example.org:22/x postgres://localhost/db mailto:someone@example.org",
		"task-management-and-risk-assessment sk-fading-circle-with-many-many-many-words desk-1234",
		"npm_config_registry=https://registry.npmjs.org npm_lifecycle_script",
		"The Authorization header is missing; Bearer authentication is required",
		"authorization: none", "Bearer of news", "class=\"sk-folding-cube\"", "eyJ is how JSON begins", "AKIA and ASIA",
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----\n",
		"glpat-", "ghp_short", "xoxb-", "100%", `C:\new\table\user`, "日本語 ✓ 🎉 e\u0301 \xff\xfe\x00\x01 \x1b[31mred\x1b[0m\r\n\t\tindented\n",
		"ok  \tgithub.com/greenwright/greenwright/sandbox\t0.058s\n--- FAIL: TestX (0.00s)\n    x_test.go:12: got 3, want 4\n",
	}
	for _, text := range texts {
		if got := r.String(text); got != text {
			at := 0
			for at < min(len(got), len(text)) && got[at] == text[at] {
				at++
			}
			t.Errorf("changed at %d: %.80q became %.80q", at, text[at:], got[at:])
		}
	}
	for _, text := range texts {
		if len(text) < 4096 {
			everySplit(t, r, text)
		}
	}
}
