package webhooktest

import (
	"encoding/json"
	"fmt"
	"os"
)

// Golden is what a golden file holds, and v as it would stand there. With
// rewrite the file is made to hold it first.
func Golden(file string, v any, rewrite bool) (want, got string, err error) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return "", "", fmt.Errorf("encoding what %s holds: %w", file, err)
	}
	text = append(text, '\n')
	if rewrite {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return "", "", err
		}
	}
	held, err := os.ReadFile(file)
	return string(held), string(text), err
}
