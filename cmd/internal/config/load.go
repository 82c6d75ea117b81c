package config

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strings"

	"github.com/caarlos0/env/v11"
	"go.yaml.in/yaml/v3"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/jobs/command"
	"github.com/greenwright/greenwright/vcs"
)

// FileName is looked for in the working directory when no file is named.
const FileName = "greenwright.yml"

// maxFile bounds the configuration and every secret's file.
const maxFile = 1 << 20

// Load reads the file, the environment over it, and the secrets' files. An
// empty path reads FileName where there is one. The changes of the command
// line come last. The result is valid.
func Load(path string, changes ...func(*Config)) (Config, error) {
	c := Default()
	content, err := read(path)
	if err != nil {
		return c, err
	}
	if err := parse(content, &c); err != nil {
		return c, fmt.Errorf("%s: %w", nameOf(path), err)
	}
	if err := overlay(&c); err != nil {
		return c, err
	}
	for _, change := range changes {
		change(&c)
	}
	c.Policy = c.Policy.WithDefaults()
	if err := errors.Join(c.Validate(), c.loadSecrets()); err != nil {
		return c, fmt.Errorf("configuration: %w", err)
	}
	return c, nil
}

func nameOf(path string) string {
	if path == "" {
		return FileName
	}
	return path
}

func read(path string) ([]byte, error) {
	f, err := os.Open(nameOf(path))
	if path == "" && errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// overlay puts the environment over the file. A forge is configured by its
// variables alone, too.
func overlay(c *Config) error {
	gitHub, gitLab := c.Forges.GitHub, c.Forges.GitLab
	if gitHub == nil {
		c.Forges.GitHub = &GitHub{}
	}
	if gitLab == nil {
		c.Forges.GitLab = &GitLab{}
	}
	if err := env.Parse(c); err != nil {
		return fmt.Errorf("reading the environment: %w", err)
	}
	for name, e := range c.Models.Endpoints {
		if e != nil {
			e.Key = model.Key(os.Getenv(KeyVar(name)))
		}
	}
	if gitHub == nil && reflect.DeepEqual(*c.Forges.GitHub, GitHub{}) {
		c.Forges.GitHub = nil
	}
	if gitLab == nil && reflect.DeepEqual(*c.Forges.GitLab, GitLab{}) {
		c.Forges.GitLab = nil
	}
	return nil
}

func parse(content []byte, c *Config) error {
	dec := yaml.NewDecoder(bytes.NewReader(content))
	dec.KnownFields(true)
	err := dec.Decode(c)
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	return errors.New(explain(err.Error()))
}

// unknownField is how the YAML library words an unknown key.
var unknownField = regexp.MustCompile(`line (\d+): field (\S+) not found in type \S+`)

// explain names the nearest known key for each unknown one.
func explain(text string) string {
	keys := keysOf(reflect.TypeFor[Config](), map[reflect.Type]bool{})
	text = strings.TrimPrefix(strings.ReplaceAll(text, "yaml: unmarshal errors:\n", ""), "yaml: ")
	text = strings.ReplaceAll(strings.TrimSpace(text), "\n  ", "\n")
	text = strings.ReplaceAll(text, "into time.Duration", "into a duration such as 15m")
	return unknownField.ReplaceAllStringFunc(text, func(m string) string {
		parts := unknownField.FindStringSubmatch(m)
		out := fmt.Sprintf("line %s: unknown key %q", parts[1], parts[2])
		if n := command.Nearest(parts[2], keys); n != "" {
			out += fmt.Sprintf(" (did you mean %q?)", n)
		}
		return out
	})
}

// keysOf lists every key of the file's schema.
func keysOf(t reflect.Type, seen map[reflect.Type]bool) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return nil
	}
	seen[t] = true
	var out []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		if name != "" && name != "-" {
			out = append(out, name)
		}
		out = append(out, keysOf(t.Field(i).Type, seen)...)
	}
	return out
}

// loadSecrets reads the files that hold secrets.
func (c *Config) loadSecrets() error {
	var faults []error
	take := func(name, file string, into *vcs.Secret) {
		if file == "" || *into != "" {
			return
		}
		s, err := secretFile(name, file)
		if err != nil {
			faults = append(faults, err)
			return
		}
		*into = s
	}
	take("redis.url_file", c.Redis.URLFile, &c.Redis.URL)
	c.Models.loadKeys(take)
	if g := c.Forges.GitHub; g != nil {
		g.loadSecrets(take)
	}
	if g := c.Forges.GitLab; g != nil {
		g.loadSecrets(take)
		if err := g.loadCA(); err != nil {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// taker reads a secret's file into a place that is still empty.
type taker = func(name, file string, into *vcs.Secret)

func (g *GitHub) loadSecrets(take taker) {
	take("forges.github.private_key_file", g.PrivateKeyFile, &g.PrivateKey)
	take("forges.github.token_file", g.TokenFile, &g.Token)
	g.Secrets = split(g.WebhookSecret)
	for _, file := range g.WebhookSecretFiles {
		var s vcs.Secret
		take("forges.github.webhook_secret_files", file, &s)
		if s != "" {
			g.Secrets = append(g.Secrets, s)
		}
	}
}

func (g *GitLab) loadSecrets(take taker) {
	take("forges.gitlab.token_file", g.TokenFile, &g.Token)
	for i := range g.Webhooks {
		h := &g.Webhooks[i]
		take(fmt.Sprintf("forges.gitlab.webhooks[%d].secret_file", i), h.SecretFile, &h.Secret)
		take(fmt.Sprintf("forges.gitlab.webhooks[%d].signing_key_file", i), h.SigningKeyFile, &h.SigningKey)
	}
	for _, s := range split(g.WebhookSecret) {
		g.Webhooks = append(g.Webhooks, GitLabWebhook{Secret: s})
	}
	for _, s := range split(g.WebhookSigningKey) {
		g.Webhooks = append(g.Webhooks, GitLabWebhook{SigningKey: s})
	}
}

func (g *GitLab) loadCA() error {
	if g.CAFile == "" {
		return nil
	}
	pem, err := secretFile("forges.gitlab.ca_file", g.CAFile)
	if err != nil {
		return err
	}
	if !x509.NewCertPool().AppendCertsFromPEM([]byte(pem.Reveal())) {
		return fmt.Errorf("forges.gitlab.ca_file: %s holds no certificate: want PEM", g.CAFile)
	}
	g.CA = []byte(pem.Reveal())
	return nil
}

// split takes a variable that holds several secrets, with commas, apart.
func split(all vcs.Secret) []vcs.Secret {
	var out []vcs.Secret
	for s := range strings.SplitSeq(all.Reveal(), ",") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, vcs.Secret(s))
		}
	}
	return out
}

// loadKeys reads the files with models' keys; the environment goes first.
func (m *Models) loadKeys(take func(name, file string, into *vcs.Secret)) {
	load := func(name, file string, into *model.Key) {
		s := vcs.Secret(into.Reveal())
		take(name+".key_file", file, &s)
		*into = model.Key(s.Reveal())
	}
	load("models.anthropic", m.Anthropic.KeyFile, &m.Anthropic.Key)
	load("models.openai", m.OpenAI.KeyFile, &m.OpenAI.Key)
	load("models.gemini", m.Gemini.KeyFile, &m.Gemini.Key)
	load("models.ollama", m.Ollama.KeyFile, &m.Ollama.Key)
	for name, e := range m.Endpoints {
		if e != nil {
			load("models.endpoints."+name, e.KeyFile, &e.Key)
		}
	}
}

func secretFile(name, file string) (vcs.Secret, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	s := strings.TrimSpace(string(b))
	if s == "" {
		return "", fmt.Errorf("%s: %s is empty", name, file)
	}
	return vcs.Secret(s), nil
}
