package ldap

import (
	"context"

	"github.com/go-ldap/ldap/v3"

	"github.com/authzhost/authz/sdk/authz"
)

// maxEmptyPages bounds how often in a row a server may say that there is more
// without telling anything.
const maxEmptyPages = 1000

// search asks for all entries below a base, page by page. It returns without an
// error only when the server said that it had told them all; references counts the
// parts that are other servers'.
//
// The library's SearchAsync is of no use here: when its connection closes at the
// wrong moment it ends as if the server had told everything.
func (s *session) search(ctx context.Context, doing, base, filter string, attributes []string, each func(*ldap.Entry) error) (references []string, err error) {
	request := ldap.NewSearchRequest(base, ldap.ScopeWholeSubtree, ldap.NeverDerefAliases, 0, 0, false, filter, attributes, nil)
	var paging *ldap.ControlPaging
	if s.o.PageSize > 0 {
		paging = ldap.NewControlPaging(uint32(s.o.PageSize))
		request.Controls = []ldap.Control{paging}
	}
	for empty := 0; ; {
		s.raw.allow(maxAnswer)
		result, err := s.conn.Search(request)
		if err != nil {
			return nil, s.fault(ctx, doing, err)
		}
		for _, entry := range result.Entries {
			if err := each(entry); err != nil {
				return nil, err
			}
		}
		references = append(references, result.Referrals...)
		if int64(len(references)) > s.o.MaxEntries {
			return nil, authz.Validation("%s: %s: more references to other servers than max_entries allows", s.server, doing)
		}
		cookie := cookieOf(result)
		if paging == nil || len(cookie) == 0 {
			return references, nil
		}
		if empty++; len(result.Entries) > 0 {
			empty = 0
		}
		if empty > maxEmptyPages {
			return nil, &authz.UnavailableError{Message: s.server.String() + ": " + doing + ": the server's pages do not end"}
		}
		paging.SetCookie(cookie)
	}
}

// cookieOf is where the next page begins; a server without paged results has told
// everything at once.
func cookieOf(result *ldap.SearchResult) []byte {
	if paging, ok := ldap.FindControl(result.Controls, ldap.ControlTypePaging).(*ldap.ControlPaging); ok {
		return paging.Cookie
	}
	return nil
}

// entry reads one entry by its name; nil is one that does not exist.
func (s *session) entry(dn string, attributes ...string) (*ldap.Entry, error) {
	s.raw.allow(maxAnswer)
	result, err := s.conn.Search(ldap.NewSearchRequest(dn, ldap.ScopeBaseObject, ldap.NeverDerefAliases, 0, 0, false,
		"(objectClass=*)", attributes, nil))
	if err != nil {
		return nil, err
	}
	if len(result.Entries) == 0 {
		return nil, nil
	}
	return result.Entries[0], nil
}
