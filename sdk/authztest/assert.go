package authztest

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/authzhost/authz/internal/remedies"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Explained is the working of a check.
type Explained = access.Explained

// maxShown bounds how many members of a list a failure explains.
const maxShown = 5

// Can fails the test unless somebody, user:ID or service:ID, may use the key at the scope.
// "" is the global scope. Of a key that is declared requiresCondition the rows alone are
// asked. It reports whether they may.
func (w *World) Can(who, key, scope string) bool {
	w.t.Helper()
	return w.check(who, key, scope, true)
}

// Cannot fails the test if they may, or if there is no answer. It reports whether they may
// not.
func (w *World) Cannot(who, key, scope string) bool {
	w.t.Helper()
	return w.check(who, key, scope, false)
}

func (w *World) check(who, key, scope string, want bool) bool {
	w.t.Helper()
	p, err := principal(who)
	if err != nil {
		w.t.Errorf("authztest: %v", err)
		return false
	}
	e, err := w.explained(p, key, scope)
	if err != nil {
		w.t.Errorf("%s: there is no answer: %v", question(who, key, scope), w.advised(err, scope))
		return false
	}
	if e.Allowed != want {
		w.t.Errorf("%s: want %s, but\n%s", question(who, key, scope), word(want), told(p, key, scope, e))
	}
	return e.Allowed == want
}

// Reason fails the test unless a check is answered for that reason: provider.ReasonGranted,
// provider.ReasonRevoked and so on.
func (w *World) Reason(who, key, scope string, want provider.Reason) bool {
	w.t.Helper()
	p, err := principal(who)
	if err != nil {
		w.t.Errorf("authztest: %v", err)
		return false
	}
	e, err := w.explained(p, key, scope)
	if err == nil {
		var got provider.Reason
		if got, err = w.checks().Why(w.ctx, p, []string{key}, cmp.Or(scope, authz.Global), e.Allowed); err == nil {
			if got != want {
				w.t.Errorf("%s: want the reason %s, but it is %s:\n%s", question(who, key, scope), want, got, told(p, key, scope, e))
			}
			return got == want
		}
	}
	w.t.Errorf("%s: there is no answer: %v", question(who, key, scope), w.advised(err, scope))
	return false
}

// WhoCan fails the test unless these subjects, and no others, hold the key at the scope.
// Members of groups are told as user:ID. A user whom a revoke or a deactivation excepts
// from what everyone holds is written "not user:ID".
func (w *World) WhoCan(key, scope string, want ...string) bool {
	w.t.Helper()
	got, err := collect(w.client.WhoCan(w.ctx, key, cmp.Or(scope, authz.Global)), func(h provider.Holder) string {
		if h.Except != "" {
			return "not " + h.Subject
		}
		return h.Subject
	})
	return w.list("who can "+key+" "+place(scope), scope, got, err, want, func(subject string) (string, string, string) {
		return subject, key, scope
	})
}

// WhereCan fails the test unless somebody holds the key at these scopes, and at no others.
// Scopes below a granted one are listed where the world knows of them. A scope with
// exceptions below it is written "SCOPE but SCOPE, SCOPE".
func (w *World) WhereCan(who, key string, want ...string) bool {
	w.t.Helper()
	p, err := principal(who)
	if err != nil {
		w.t.Errorf("authztest: %v", err)
		return false
	}
	got, err := collect(w.client.WhereCan(w.ctx, p, key), func(s provider.HeldScope) string {
		if len(s.Except) > 0 {
			return s.Scope + " but " + strings.Join(s.Except, ", ")
		}
		return s.Scope
	})
	return w.list("where "+who+" can "+key, "", got, err, want, func(scope string) (string, string, string) {
		scope, _, _ = strings.Cut(scope, " but ")
		return who, key, scope
	})
}

// WhatCan fails the test unless somebody holds these keys at the scope, and no others.
// Those of the account of an org, authz_internal.*, are left out unless one is wanted.
func (w *World) WhatCan(who, scope string, want ...string) bool {
	w.t.Helper()
	p, err := principal(who)
	if err != nil {
		w.t.Errorf("authztest: %v", err)
		return false
	}
	internal := slices.ContainsFunc(want, func(key string) bool { return authz.NamespaceOf(key) == authz.InternalNamespace })
	got, err := collect(w.client.WhatCan(w.ctx, p, cmp.Or(scope, authz.Global)), func(k provider.HeldKey) string { return k.Key })
	if !internal {
		got = slices.DeleteFunc(got, func(key string) bool { return authz.NamespaceOf(key) == authz.InternalNamespace })
	}
	return w.list("what "+who+" can "+place(scope), scope, got, err, want, func(key string) (string, string, string) {
		return who, key, scope
	})
}

func collect[Row any](rows iter.Seq2[Row, error], name func(Row) string) (names []string, err error) {
	for r, err := range rows {
		if err != nil {
			return nil, err
		}
		names = append(names, name(r))
	}
	return names, nil
}

// list compares a list with what is wanted, and explains each difference as a check.
func (w *World) list(what, scope string, got []string, err error, want []string, ask func(member string) (who, key, scope string)) bool {
	w.t.Helper()
	if err != nil {
		w.t.Errorf("%s: there is no answer: %v", what, w.advised(err, scope))
		return false
	}
	missing, unexpected := without(want, got), without(got, want)
	if len(missing)+len(unexpected) == 0 {
		return true
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: want %d, got %d", what, len(want), len(got))
	shown := 0
	for _, diff := range []struct {
		word    string
		members []string
	}{{"missing   ", missing}, {"unexpected", unexpected}} {
		for _, member := range diff.members {
			b.WriteString("\n  " + diff.word + " " + member)
			if shown++; shown <= maxShown {
				b.WriteString(w.why(ask(member)))
			}
		}
	}
	w.t.Errorf("%s", b.String())
	return false
}

// without are the members of a that are not in b.
func without(a, b []string) (left []string) {
	for _, member := range a {
		if !slices.Contains(b, member) {
			left = append(left, member)
		}
	}
	slices.Sort(left)
	return slices.Compact(left)
}

// why explains a member of a list below it, where it is a question about one principal.
func (w *World) why(who, key, scope string) string {
	p, err := principal(strings.TrimPrefix(who, "not "))
	if err != nil {
		return ""
	}
	e, err := w.explained(p, key, scope)
	if err != nil {
		return indented(err.Error())
	}
	return indented(told(p, key, scope, e))
}

func indented(text string) string {
	return "\n      " + strings.ReplaceAll(text, "\n", "\n      ")
}

func (w *World) explained(p authz.Principal, key, scope string) (Explained, error) {
	return w.checks().Explain(w.ctx, &provider.Explain{Principal: p, Key: key, Scope: scope})
}

// told is what authz explain prints.
func told(p authz.Principal, key, scope string, e Explained) string {
	var b strings.Builder
	b.WriteString(e.Text(p, key, scope))
	(&remedies.Command{}).Write(&b, p, key, e)
	return strings.TrimRight(b.String(), "\n")
}

// advised says what the rows of the world lack, where that is why there is no answer.
func (w *World) advised(err error, scope string) error {
	if authz.CodeOf(err) != authz.CodeUnsupported || w.resolved || scope == "" {
		return err
	}
	return fmt.Errorf("%w\nwrite where it lies: 'scope %s parents PARENT', or 'scope %s' where nothing is above it", err, scope, scope)
}

func question(who, key, scope string) string { return who + " " + key + " " + place(scope) }

func place(scope string) string {
	if scope == "" || scope == authz.Global {
		return "everywhere"
	}
	return "at " + scope
}

func word(allowed bool) string {
	if allowed {
		return "ALLOWED"
	}
	return "DENIED"
}
