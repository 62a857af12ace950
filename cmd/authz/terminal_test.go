package main

import (
	"bytes"
	"strings"
	"testing"
)

// What the command repeats of its arguments, of files and of rows goes through one
// writer; a flag is repeated by a library.
func TestTheCommandShowsNothingThatATerminalWouldObeyOrHide(t *testing.T) {
	for _, args := range [][]string{
		{"check", "--fo\u202eo\u200b\u009b"},
		{"config", "check", "-c", "no\u202esuch\u2066file\x1b[2J.yaml"},
	} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), args, strings.NewReader(""), &out, &errs); code == 0 {
			t.Errorf("%q succeeded", args)
		}
		told := out.String() + errs.String()
		if strings.ContainsAny(told, "\u202e\u200b\u2066\x1b\u009b") || !strings.Contains(told, `\u202e`) {
			t.Errorf("%q told %q", args, told)
		}
	}
}
