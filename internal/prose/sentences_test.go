package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSentences(t *testing.T) {
	source := "# A heading. Not read\n\nOne `a. B` two three. Four\nfive six! (Seven.) \"Eight?\" Nine: ten.\n\n- item one\n- item two. And more\n\n```sh\nnot. Read\n```\n\n| Head. Er | x |\n| --- | --- |\n| cell one. Two; three | [text of a link](x.md) |\n"
	var got []string
	for _, s := range sentences([]byte(source)) {
		got = append(got, s.text)
	}
	want := "One `…` two three.|Four five six!|(Seven.)|\"Eight?\"|Nine: ten.|item one|item two.|And more|cell one.|Two;|three|text of a link"
	if strings.Join(got, "|") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "|"), want)
	}
	if line := sentences([]byte(source))[1].line; line != 3 {
		t.Errorf("a sentence of line 3 is said to be of %d", line)
	}
}

func TestPassives(t *testing.T) {
	for text, want := range map[string]bool{
		"The row is written.": true, "Rows were never kept.": true, "It has been carefully judged.": true,
		"The host writes the row.": false, "It is a bed.": false, "The need is there.": false,
	} {
		if isPassive(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

func TestCheckNamesWhatIsBeyondTheLimits(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("word ", 33) + "ends."
	for name, text := range map[string]string{"good.md": "A short page.\n", "long.md": "Before it.\n\n" + long + "\n", "testdata/skipped.md": long} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	err := run([]string{"-root", dir, "-check"}, &out)
	if err == nil || !strings.Contains(out.String(), "long.md:3: a sentence of 34 words") || strings.Contains(out.String(), "good.md") || strings.Contains(out.String(), "skipped") {
		t.Errorf("%v: %s", err, out.String())
	}
	if err := os.Remove(filepath.Join(dir, "long.md")); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"-root", dir, "-check"}, &out); err != nil {
		t.Error(err)
	}
}
