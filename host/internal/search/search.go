package search

import (
	"strings"
	"unicode"
)

// Finds reports whether what was typed begins one of the texts, or a word in one, whatever
// the case of the letters. Nothing finds everything.
func Finds(typed string, texts ...string) bool {
	typed = strings.ToLower(strings.TrimSpace(typed))
	for _, text := range texts {
		if begins(strings.ToLower(text), typed) {
			return true
		}
	}
	return typed == ""
}

func begins(text, typed string) bool {
	inside := false // a word
	for i, r := range text {
		if !inside && strings.HasPrefix(text[i:], typed) {
			return true
		}
		inside = unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	return false
}
