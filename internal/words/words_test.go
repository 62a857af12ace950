package words_test

import (
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
)

func TestSubject(t *testing.T) {
	for word, want := range map[string]string{
		"user:u_1": "", "group:g:1": "", "everyone": "", "directs:u_1": "",
		"everybody": "did you mean everyone?",
		"everyon":   "did you mean everyone?",
		"bob":       "write user:bob, or group:",
		"user:":     "the id behind user: is missing",
		"User:bob":  "did you mean user:bob?",
		"grop:g":    "did you mean group:g?",
		"robot:r":   "it begins with user:, group:",
	} {
		err := words.CheckSubject(word)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", word, err, want)
		}
	}
}

func TestScope(t *testing.T) {
	for word, fits := range map[string]bool{"*": true, "docs.folder:f_1": true, "docs": false, "": false, "docs.folder:": false} {
		err := words.CheckScope(word)
		if (err == nil) != fits || err != nil && !strings.Contains(err.Error(), "is no scope: write *") {
			t.Errorf("%q: %v", word, err)
		}
	}
}

func TestInstants(t *testing.T) {
	for word, want := range map[string]string{
		"2027-01-31": "2027-01-31T00:00:00Z", "2027-01-31T17:00:00Z": "2027-01-31T17:00:00Z", "2027-01-31T17:00:00+02:00": "2027-01-31T15:00:00Z",
	} {
		if ms, err := words.ParseInstant(word); err != nil || words.Instant(ms) != want {
			t.Errorf("%s is %s, %v", word, words.Instant(ms), err)
		}
	}
	for _, word := range []string{"", "30d", "tomorrow", "2027-02-31"} {
		if ms, err := words.ParseInstant(word); err == nil || !strings.Contains(err.Error(), "is no instant") {
			t.Errorf("%s is %d, %v", word, ms, err)
		}
	}
	now := time.UnixMilli(1000)
	for want, e := range map[string]authz.Expiry{
		"never": {}, "1970-01-01T00:00:01Z (expired)": authz.ExpiresAt(1000), "1970-01-01T00:00:02Z": authz.ExpiresAt(2000),
	} {
		if got := words.Expiry(e, now); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}
