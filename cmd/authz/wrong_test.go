package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// A wrongInput is one mistake as somebody makes it: the words of a command line, in
// which ~ stands for a space within one, and what comes in by standard input. It exits
// with code, and says all of says on standard error; where nothing keeps it from being
// done (code 0) it warns.
type wrongInput struct {
	args string
	in   string
	code int
	says []string
}

// leastWrong is how many wrong inputs are tried at least.
const leastWrong = 120

// unhelpful are words of the program's insides, which tell people nothing.
var unhelpful = []string{"strconv", "unmarshal", "Go value", "nil pointer", "arg(s)", "%!", "<nil>", "canAny"}

// TestWrongInputsAreToldAndNoneIsAcceptedInSilence tries the table below with the real
// program against a real host.
func TestWrongInputsAreToldAndNoneIsAcceptedInSilence(t *testing.T) {
	if len(wrongInputs) < leastWrong {
		t.Errorf("the table holds %d wrong inputs, want %d", len(wrongInputs), leastWrong)
	}
	for _, leaf := range leaves(newRoot()) {
		if !slices.ContainsFunc(wrongInputs, func(c wrongInput) bool { return c.args == leaf || strings.HasPrefix(c.args, leaf+" ") }) {
			t.Errorf("no wrong input of 'authz %s' is tried", leaf)
		}
	}
	x := newWrongWorld(t)
	t.Run("inputs", func(t *testing.T) {
		seen := map[wrongKey]bool{}
		for _, c := range wrongInputs {
			key := wrongKey{c.args, c.in}
			if seen[key] {
				t.Errorf("tried twice: authz %s", c.args)
			}
			seen[key] = true
			t.Run(c.args, func(t *testing.T) {
				t.Parallel()
				out, errs, code := x.runs(c)
				if code != c.code {
					t.Errorf("exit %d, want %d\n%s%s", code, c.code, out, errs)
				}
				for _, want := range c.says {
					if !strings.Contains(errs, x.words.Replace(want)) {
						t.Errorf("it does not say %q:\n%s", want, errs)
					}
				}
				if len(c.says) == 0 || code == 0 && !strings.Contains(errs, "warning: ") {
					t.Errorf("it is accepted in silence:\n%s%s", out, errs)
				}
				for _, word := range unhelpful {
					if strings.Contains(errs, word) {
						t.Errorf("%q helps nobody:\n%s", word, errs)
					}
				}
			})
		}
	})
	select {
	case <-x.host.done:
		t.Errorf("the host ended:\n%s", x.host.errs.String())
	default:
	}
}

type wrongKey struct{ args, in string }

// leaves are the commands that do something, by their path below the root.
func leaves(c *cobra.Command) (paths []string) {
	if !c.IsAvailableCommand() && c.HasParent() {
		return nil
	}
	if !c.HasSubCommands() {
		return []string{strings.TrimPrefix(c.CommandPath(), "authz ")}
	}
	for _, child := range c.Commands() {
		paths = append(paths, leaves(child)...)
	}
	return paths
}

// parts are what a message holds.
func parts(of ...string) []string { return of }
