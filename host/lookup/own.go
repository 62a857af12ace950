package lookup

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// own tells services, and users whom rows of their own alone confer the key on.
func (s *subjectList) own(after place) error {
	begin := max(after.At, single)
	var grants []authz.Grant
	flush := func() error {
		if len(grants) == 0 || s.extent.over() {
			return nil
		}
		last := grants[len(grants)-1].Subject
		s.extent.examined += len(grants)
		told, err := s.ownOf(grants)
		if err != nil {
			return err
		}
		grants = grants[:0]
		for _, h := range told {
			if !s.decided(place{At: h.Subject}, true, h) {
				return nil
			}
		}
		s.decided(place{At: last}, false, provider.Holder{})
		return nil
	}
	for g, err := range s.singles(begin) {
		if err != nil {
			return err
		}
		if n := len(grants); n >= s.extent.batch() && grants[n-1].Subject != g.Subject {
			if err := flush(); err != nil || s.extent.over() {
				return err
			}
		}
		grants = append(grants, g)
	}
	return flush()
}

// ownOf decides the subjects of some grants, all of whose grants are among them.
func (s *subjectList) ownOf(grants []authz.Grant) (told []provider.Holder, err error) {
	conferring, err := s.confer(grants)
	if err != nil {
		return nil, err
	}
	of, users := map[string][]authz.Grant{}, []string(nil)
	subjects := make([]string, 0, len(conferring))
	for _, g := range conferring {
		if kind, id, _ := authz.ParseSubject(g.Subject); kind == authz.SubjectUser {
			users = append(users, id)
		}
		of[g.Subject] = append(of[g.Subject], g)
		subjects = append(subjects, g.Subject)
	}
	users = slices.Compact(users)
	verdicts := map[string]verdict{}
	for some := range slices.Chunk(users, storage.MaxPeople) {
		judged, err := s.judge(some, of)
		if err != nil {
			return nil, err
		}
		maps.Copy(verdicts, judged)
	}
	for _, subject := range slices.Compact(subjects) {
		if id, user := strings.CutPrefix(subject, string(authz.SubjectUser)+":"); user {
			if v := verdicts[id]; v.ok && v.first == (source{}) {
				told = append(told, v.holder)
			}
			continue
		}
		h := provider.Holder{Subject: subject}
		s.by(&h, append(of[subject], s.shared[authz.Everyone]...), nil)
		told = append(told, h)
	}
	return told, nil
}

// singles are the grants that may confer the key on one service or user each, by
// subject, strictly after one.
func (s *subjectList) singles(after string) iter.Seq2[authz.Grant, error] {
	lists := make([]iter.Seq2[authz.Grant, error], 0, len(s.chain)+1)
	for _, scope := range s.chain {
		lists = append(lists, s.grantsAfter(scope, after))
	}
	lists = append(lists, func(yield func(authz.Grant, error) bool) {
		for _, subject := range slices.Sorted(maps.Keys(s.below)) {
			for _, g := range s.below[subject] {
				if !yield(g, nil) {
					return
				}
			}
		}
	})
	return func(yield func(authz.Grant, error) bool) {
		for g, err := range mergedBySubject(lists) {
			if err == nil && g.Subject <= after {
				continue
			}
			if !yield(g, err) {
				return
			}
		}
	}
}

// grantsAfter are the grants at a scope to subjects after one, read as a page takes them.
func (s *subjectList) grantsAfter(scope, subject string) iter.Seq2[authz.Grant, error] {
	return func(yield func(authz.Grant, error) bool) {
		if grants, whole := s.few[scope]; whole {
			for _, g := range grants {
				if g.Subject > subject && !yield(g, nil) {
					return
				}
			}
			return
		}
		page := storage.GrantsAtPage{AfterScope: scope, AfterSubject: subject, AfterID: "\U0010ffff"} // after all of theirs
		for {
			page.Limit = s.extent.batch() + 1 // which says whether the last one has more
			n := 0
			for g, err := range s.Store.ListGrantsAt(s.ctx, []string{scope}, page) {
				if !yield(g, err) || err != nil {
					return
				}
				n++
				page.AfterSubject, page.AfterID = g.Subject, g.ID
			}
			if n < page.Limit {
				return
			}
		}
	}
}

// mergedBySubject merges lists that are ordered by subject. It ends with the first error.
func mergedBySubject(lists []iter.Seq2[authz.Grant, error]) iter.Seq2[authz.Grant, error] {
	return func(yield func(authz.Grant, error) bool) {
		heads := make([]pulled, 0, len(lists))
		for _, list := range lists {
			next, stop := iter.Pull2(list)
			defer stop()
			h := pulled{next: next}
			if h.advance() {
				heads = append(heads, h)
			}
		}
		for len(heads) > 0 {
			least := 0
			for i := range heads {
				if heads[i].err != nil {
					yield(authz.Grant{}, heads[i].err)
					return
				}
				if heads[i].grant.Subject < heads[least].grant.Subject {
					least = i
				}
			}
			if !yield(heads[least].grant, nil) {
				return
			}
			if !heads[least].advance() {
				heads = slices.Delete(heads, least, least+1)
			}
		}
	}
}

type pulled struct {
	next  func() (authz.Grant, error, bool)
	grant authz.Grant
	err   error
}

func (p *pulled) advance() (ok bool) {
	p.grant, p.err, ok = p.next()
	return ok
}
