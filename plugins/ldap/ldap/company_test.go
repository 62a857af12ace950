package ldap_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	goldap "github.com/go-ldap/ldap/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/plugins/ldap/ldap"
	"github.com/authzhost/authz/plugins/ldap/slapdtest"
)

// size of the company that a server is loaded with.
func size(t *testing.T) (people, groups int) {
	if testing.Short() {
		t.Log("SKIPPED with -short: 10,000 people in 2,000 groups; a tenth of them is read")
		return 1000, 200
	}
	return 10_000, 2_000
}

func load(t *testing.T, write func(io.Writer), lines ...string) *slapdtest.Server {
	t.Helper()
	slapdtest.Require(t)
	var company bytes.Buffer
	write(&company)
	return slapdtest.New(t, slapdtest.Options{LDIF: &company, Lines: lines})
}

func same(t *testing.T, want, got told) {
	t.Helper()
	want.Warnings, got.Warnings = nil, nil
	if reflect.DeepEqual(want, got) { // a comparison that explains takes seconds
		return
	}
	diff := cmp.Diff(want, got)
	t.Fatal(diff[:min(len(diff), 4000)])
}

// companyOptions read all that a company has.
func companyOptions(t *testing.T, s *slapdtest.Server) ldap.Options {
	t.Helper()
	o := options(t, s)
	o.GroupID, o.UserOrgs = "entryUUID", []string{"departmentNumber"}
	o.ActiveAttribute, o.InactiveValues = "employeeType", []string{"Left"}
	return o
}

func TestACompanyReadsAsItIs(t *testing.T) {
	people, groups := size(t)
	m := newModel(1, people, groups)
	o := companyOptions(t, load(t, m.rfc2307bis))

	// By number some people are in the directory twice.
	o.UserID = "employeeNumber"
	byNumber := func(p modelPerson) string { return p.number }
	began := time.Now()
	got := mustRead(t, o)
	t.Logf("%d people, %d groups, %d memberships read over TLS in pages of %d in %s",
		people, groups, count(got.Members), o.PageSize, time.Since(began).Round(time.Millisecond))
	same(t, m.expected(byNumber, false), got)
	twice, dangling := 0, 0
	for _, w := range got.Warnings {
		if strings.Contains(w, "have the same id") {
			twice++
		}
		if strings.Contains(w, "is no person or group that was read") {
			dangling++
		}
	}
	if twice != min(people/250, 20) || dangling != min(20, groups/10) {
		t.Errorf("%d warnings of people who are there twice, %d of members: %q", twice, dangling, got.Warnings)
	}
	if more := fmt.Sprintf("and %d more members that were not read", groups/20*2-20); groups > 200 && !slices.Contains(got.Warnings, more) {
		t.Errorf("%q is not in %q", more, got.Warnings)
	}
}

// Two readings tell the same. By what outlives a renaming, also when people were
// renamed in between.
func TestACompanyReadsAsItDidBefore(t *testing.T) {
	m := newModel(7, 1000, 200)
	s := load(t, m.rfc2307bis)
	o := companyOptions(t, s)
	o.UserID = "employeeNumber"
	if first, again := mustRead(t, o), mustRead(t, o); !reflect.DeepEqual(first, again) {
		t.Errorf("a second reading differs: %s", cmp.Diff(first, again))
	}

	o.UserID = "entryUUID"
	byUUID := func(p modelPerson) string { return p.id.String() }
	before := mustRead(t, o)
	same(t, m.expected(byUUID, false), before)
	rename(t, s, m)
	same(t, before, mustRead(t, o))
}

func count(members map[string][]string) (n int) {
	for _, groups := range members {
		n += len(groups)
	}
	return n
}

// rename gives every 97th person another name, in the groups that list them too.
func rename(t *testing.T, s *slapdtest.Server, m *model) {
	t.Helper()
	conn := admin(t, s)
	for i := 50; i < len(m.people); i += 97 {
		p := &m.people[i]
		old := p.dn
		p.login = fmt.Sprintf("renamed, %d", i)
		p.dn = slapdtest.DN("uid", p.login, peopleBase)
		rdn, _, _ := strings.Cut(p.dn, ","+peopleBase)
		must(t, conn.ModifyDN(goldap.NewModifyDNRequest(old, rdn, true, "")))
		for _, g := range m.groups {
			if slices.Contains(g.people, i) {
				change := goldap.NewModifyRequest(g.dn, nil)
				change.Delete("member", []string{old})
				change.Add("member", []string{p.dn})
				must(t, conn.Modify(change))
			}
		}
		for _, report := range m.people {
			if report.manager == i {
				change := goldap.NewModifyRequest(report.dn, nil)
				change.Replace("manager", []string{p.dn})
				must(t, conn.Modify(change))
			}
		}
	}
}

func admin(t *testing.T, s *slapdtest.Server) *goldap.Conn {
	t.Helper()
	conn, err := goldap.DialURL(s.URL())
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	must(t, conn.Bind(slapdtest.AdminDN, s.Password))
	return conn
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestActiveDirectoryReadsAsItIs(t *testing.T) {
	const people, groups = 500, 100 // each part of a list is a question of its own
	m := newModel(2, people, groups)
	s := load(t, m.activeDirectory)
	o, err := ldap.Defaults(ldap.SchemaActiveDirectory)
	must(t, err)
	o = plaintext(o, slapdtest.Ranges(t, s.Address(), "member", 150))
	o.BindDN, o.BindPassword = slapdtest.AdminDN, s.Password
	o.UserBase, o.GroupBase, o.UserOrgs = peopleBase, groupsBase, []string{"company"}
	o.PageSize = 100

	want := m.expected(func(p modelPerson) string { return p.id.String() }, true)
	same(t, want, mustRead(t, o))
	// Lists that are told in many parts, and one that ends with a part.
	for _, size := range []int{9, people / 2, people} {
		o.URLs = []string{slapdtest.Ranges(t, s.Address(), "member", size)}
		same(t, want, mustRead(t, o))
	}

	o.UserID, o.GroupID = "sAMAccountName", "objectSid"
	got := mustRead(t, o)
	if _, ok := got.Users[m.people[1].login]; !ok || len(got.Users) != people {
		t.Errorf("people by account name: %d", len(got.Users))
	}
	if _, ok := got.Groups[fmt.Sprintf("%s-%d", domain, m.groups[7].rid)]; !ok {
		t.Errorf("groups by security identifier: %q", names(got.Groups)[:5])
	}
}

// A server that dies while it tells is an outage, and nothing was told.
func TestAServerThatIsKilledInTheMiddle(t *testing.T) {
	m := newModel(3, 1000, 200)
	s := load(t, m.rfc2307bis)
	o := options(t, s)
	o.PageSize, o.CheckSchema = 100, false
	whole := mustRead(t, o)
	for _, after := range []int64{1, 20_000, 100_000, 200_000} {
		url, killed := relay(t, s, after)
		unavailable(t, plaintext(o, url), "failed")
		killed()
		must(t, s.Start(t.Context()))
	}
	same(t, whole, mustRead(t, o))
}

// relay stands before a server and kills it once so many bytes went through; killed
// waits for that.
func relay(t *testing.T, s *slapdtest.Server, after int64) (url string, killed func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var running sync.WaitGroup
	running.Go(func() {
		client, err := l.Accept()
		if err != nil {
			return
		}
		defer client.Close()
		server, err := net.Dial("tcp", s.Address())
		if err != nil {
			return
		}
		defer server.Close()
		running.Go(func() { _, _ = io.Copy(server, client) })
		if n, _ := io.CopyN(client, server, after); n == after {
			if err := s.Kill(); err != nil {
				t.Error(err)
			}
		}
		_, _ = io.Copy(client, server)
	})
	killed = func() {
		_ = l.Close()
		running.Wait()
	}
	t.Cleanup(killed)
	return "ldap://" + l.Addr().String(), killed
}

// Two searches that refer to themselves and to each other for ever.
func TestReferralsInACircle(t *testing.T) {
	s := small(t, slapdtest.Options{})
	conn := admin(t, s)
	for name, to := range map[string]string{"self": "self", "one": "other", "other": "one"} {
		add := goldap.NewAddRequest("ou="+name+","+slapdtest.Suffix, []goldap.Control{goldap.NewControlManageDsaIT(true)})
		add.Attribute("objectClass", []string{"referral", "extensibleObject"})
		add.Attribute("ou", []string{name})
		add.Attribute("ref", []string{s.URL() + "/ou=" + to + "," + slapdtest.Suffix})
		must(t, conn.Add(add))
	}
	for _, name := range []string{"self", "one"} {
		o := options(t, s)
		o.UserBase = "ou=" + name + "," + slapdtest.Suffix
		refused(t, o, "referral", "never followed")
	}
}
