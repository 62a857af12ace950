package ldap_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/authzhost/authz/internal/freeport"
	"github.com/authzhost/authz/plugins/ldap/ldap"
	"github.com/authzhost/authz/plugins/ldap/slapdtest"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

// small is a directory of three people in a group.
func small(t *testing.T, o slapdtest.Options) *slapdtest.Server {
	l := newLDIF("far")
	ann := l.person("ann")
	l.group("all", ann, l.person("bob", slapdtest.A("manager", ann)), l.person("eve"))
	slapdtest.Write(l, "ou=abroad,"+peopleBase, slapdtest.A("objectClass", "referral", "extensibleObject"), slapdtest.A("ou", "abroad"),
		slapdtest.A("ref", "ldap://other.example/ou=abroad,"+peopleBase))
	slapdtest.Write(l, "ou=away,"+slapdtest.Suffix, slapdtest.A("objectClass", "referral", "extensibleObject"), slapdtest.A("ou", "away"),
		slapdtest.A("ref", "ldap://127.0.0.1:1/ou=away,"+slapdtest.Suffix))
	o.LDIF = l
	return slapdtest.New(t, o)
}

func TestWhatTheDirectoryRefuses(t *testing.T) {
	s := small(t, slapdtest.Options{Lines: []string{`access to attrs=manager by * none`, `access to dn.subtree="ou=far,dc=example,dc=com" by * none`, `access to * by * read`}})
	for name, c := range map[string]struct {
		change func(*ldap.Options)
		says   []string
	}{
		"a wrong password": {func(o *ldap.Options) { o.BindPassword = "Tr0ub4dor&3" }, []string{"the bind: invalid credentials", "bind_password"}},
		"nobody":           {func(o *ldap.Options) { o.BindDN = "cn=nobody," + slapdtest.Suffix }, []string{"invalid credentials", "bind_dn"}},
		"no name to bind":  {func(o *ldap.Options) { o.BindDN = "nobody" }, []string{"invalid dn syntax", "bind_dn"}},
		"an unknown base for people": {func(o *ldap.Options) { o.UserBase = "ou=nowhere," + slapdtest.Suffix },
			[]string{"a search for people: no such object", "user_base"}},
		"an unknown base for groups": {func(o *ldap.Options) { o.GroupBase = "ou=nowhere," + slapdtest.Suffix },
			[]string{"a search for groups: no such object", "group_base"}},
		"another directory's base": {func(o *ldap.Options) { o.UserBase = "dc=other" }, []string{"no such object"}},
		"a filter for nobody": {func(o *ldap.Options) { o.UserFilter = "(uid=ghost)" },
			[]string{"a search for people found nothing", "user_base", "user_filter"}},
		"a filter for no group": {func(o *ldap.Options) { o.GroupFilter = "(cn=ghost)" }, []string{"a search for groups found nothing", "group_filter"}},
		"an id that nobody has": {func(o *ldap.Options) { o.UserID = "employeeNumber" },
			[]string{"of 3 entries that a search for people found, 3 have no usable value", `"employeeNumber"`, "user_id"}},
		"a group's id that no group has": {func(o *ldap.Options) { o.GroupID = "gidNumber" }, []string{"of 1 entries", "group_id"}},
		"a name that no group has":       {func(o *ldap.Options) { o.GroupName = "displayName" }, []string{`none of the groups has the attribute "displayName"`, "group_name"}},
		"members that no group has":      {func(o *ldap.Options) { o.Member = "uniqueMember" }, []string{`none of the groups has the attribute "uniqueMember"`, "member_attribute"}},
		"a key that nobody has": {func(o *ldap.Options) { o.MemberKind, o.MemberKeyAttribute = ldap.MemberKey, "employeeNumber" },
			[]string{`none of the people has the attribute "employeeNumber"`, "member_key"}},
		"orgs that nobody has":         {func(o *ldap.Options) { o.UserOrgs = []string{"departmentNumber"} }, []string{`"departmentNumber"`, "user_orgs"}},
		"managers that nobody has":     {func(o *ldap.Options) { o.UserManager = "secretary" }, []string{`none of the people has the attribute "secretary"`, "user_manager"}},
		"managers that nobody may see": {func(o *ldap.Options) { o.BindDN, o.BindPassword = "", "" }, []string{`none of the people has the attribute "manager"`, "user_manager"}},
		"an activity that nobody has": {func(o *ldap.Options) { o.ActiveAttribute, o.ActiveValues = "employeeType", []string{"active"} },
			[]string{`"employeeType"`, "user_active_attribute"}},
		"bits that nobody has": {func(o *ldap.Options) { o.ActiveAttribute, o.InactiveBits = "employeeNumber", 2 },
			[]string{"of 3 people 3 have no number", "user_active_attribute"}},
		"primary groups that nobody has": {func(o *ldap.Options) { o.PrimaryGroup = ldap.PrimarySID }, []string{`"objectSid"`, "primary_group"}},
		"a name that the schema lacks": {func(o *ldap.Options) { o.UserManager = "managr" },
			[]string{`no attribute "managr" (setting user_manager)`, `did you mean "manager"?`}},
		"an id that the schema lacks": {func(o *ldap.Options) { o.GroupID = "objectIdentity" }, []string{"setting group_id"}},
		"more than is allowed":        {func(o *ldap.Options) { o.MaxEntries = 3 }, []string{"more than 3 people and groups", "max_entries"}},
		"what nobody may see": {func(o *ldap.Options) {
			o.BindDN, o.BindPassword, o.UserBase = "", "", "ou=far,"+slapdtest.Suffix
		}, []string{"no such object", "may not see it"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, s)
			c.change(&o)
			refused(t, o, c.says...)
		})
	}
	t.Run("without a look at the schema", func(t *testing.T) {
		o := options(t, s)
		o.UserID, o.CheckSchema = "managr", false
		refused(t, o, "3 have no usable value", "user_id")
	})
}

func TestReferralsAreNotFollowed(t *testing.T) {
	s := small(t, slapdtest.Options{Global: []string{"referral ldap://127.0.0.1:1"}})
	o := options(t, s)
	got := mustRead(t, o)
	if want := `not read, a part of "ou=people,dc=example,dc=com" that the server at "ldap://other.example" holds: referrals are not followed`; !slices.Contains(got.Warnings, want) {
		t.Errorf("warnings %q", got.Warnings)
	}
	if len(got.Users) != 3 {
		t.Errorf("%d people", len(got.Users))
	}
	// A base that is elsewhere, one that refers to itself for ever, one of another
	// server's.
	loop := small(t, slapdtest.Options{})
	for _, base := range []string{"ou=away," + slapdtest.Suffix, "ou=people,ou=away," + slapdtest.Suffix} {
		o = options(t, loop)
		o.UserBase = base
		refused(t, o, "referral", "never followed", "urls")
	}
	o = options(t, s)
	o.UserBase = "dc=other"
	refused(t, o, "referral", "never followed")
}

func TestServersThatCannotBeTrusted(t *testing.T) {
	s := small(t, slapdtest.Options{})
	o := options(t, s)
	o.CAFile = s.Files.OtherCA
	unavailable(t, o, "TLS failed", "ca_file")
	o.URLs, o.StartTLS = []string{s.URL()}, true
	unavailable(t, o, "TLS failed", "ca_file")
	o.CAFile = "" // the system's authorities
	unavailable(t, o, "TLS failed", "ca_file")
	o.CAFile, o.ServerName = s.Files.CA, "other.test"
	unavailable(t, o, "TLS failed", "server_name")
	o.URLs, o.StartTLS = []string{s.TLSURL()}, false
	unavailable(t, o, "TLS failed", "server_name")
	o.URLs = []string{strings.Replace(s.URL(), "ldap:", "ldaps:", 1)} // TLS where there is none
	unavailable(t, o, "TLS failed")

	o.ServerName = slapdtest.ServerName
	o.URLs = []string{s.TLSURL()}
	mustRead(t, o)
	o.URLs, o.StartTLS = []string{s.URL()}, true
	mustRead(t, o)
}

func TestWhoBinds(t *testing.T) {
	s := small(t, slapdtest.Options{Lines: []string{`access to dn.subtree="` + groupsBase + `" by dn.exact="` + slapdtest.ClientDN + `" read by * none`, "access to * by * read"}})
	o := options(t, s)
	o.BindDN, o.BindPassword = "", ""
	refused(t, o, "a search for groups") // anonymous
	o.CertFile, o.KeyFile, o.BindExternal = s.Files.ClientCert, s.Files.ClientKey, true
	if got := mustRead(t, o); len(got.Members) != 3 || len(got.Groups) != 1 {
		t.Errorf("by its certificate: %+v", got)
	}
	o = plaintext(options(t, s), s.URL())
	mustRead(t, o)
}

func TestOneServerOfSeveral(t *testing.T) {
	s := small(t, slapdtest.Options{})
	o := options(t, s)
	gone := "ldaps://" + freeAddress(t)
	o.URLs = []string{gone, s.TLSURL()}
	got := mustRead(t, o)
	if len(got.Users) != 3 || !strings.HasPrefix(got.Warnings[0], gone+": cannot be reached: ") || !strings.HasSuffix(got.Warnings[0], s.TLSURL()+" was read instead") {
		t.Errorf("warnings %q", got.Warnings)
	}
	o.URLs = []string{gone, "ldaps://" + freeAddress(t)}
	unavailable(t, o, "none of the servers can be read", gone)
	// A refusal is not asked for twice: it would count against the account.
	o.URLs, o.BindPassword = []string{s.TLSURL(), gone}, "another"
	refused(t, o, "invalid credentials")
}

func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := freeport.Address()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

func TestServersLimits(t *testing.T) {
	o := options(t, small(t, slapdtest.Options{Lines: []string{"sizelimit 2", "access to * by * read"}}))
	o.BindDN, o.BindPassword = "", "" // the administrator has no limits
	o.PageSize = 0
	unavailable(t, o, "size limit exceeded", "a part only", "page_size")
	o.PageSize = 2
	unavailable(t, o, "size limit exceeded", "a part only")

	o = options(t, small(t, slapdtest.Options{Lines: []string{"limits anonymous size.prtotal=disabled", "access to * by * read"}}))
	o.BindDN, o.BindPassword = "", ""
	_, err := read(t.Context(), opened(t, o))
	if err == nil {
		t.Error("paged results that the server does not allow")
	}
	t.Log(err)
}

func TestServersThatAreSilent(t *testing.T) {
	t.Parallel() // most of it waits
	s := small(t, slapdtest.Options{})
	o := options(t, s)
	o.Timeout = time.Second
	if err := s.Signal(syscall.SIGSTOP); err != nil {
		t.Skip("SKIPPED: a process cannot be stopped here: ", err)
	}
	unavailable(t, o, s.TLSURL(), "TLS failed")
	o = plaintext(o, s.URL())
	unavailable(t, o, "the bind failed", "timed out")
	o.StartTLS, o.CAFile = true, s.Files.CA
	unavailable(t, o, "TLS failed")

	// A host that gives up.
	o = plaintext(o, s.URL())
	o.StartTLS, o.Timeout = false, time.Minute
	for name, end := range map[string]func(context.CancelFunc, *ldap.Importer){
		"cancelled": func(cancel context.CancelFunc, _ *ldap.Importer) { cancel() },
		"closed":    func(_ context.CancelFunc, i *ldap.Importer) { i.Close() },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		i := opened(t, o)
		time.AfterFunc(50*time.Millisecond, func() { end(cancel, i) })
		began := time.Now()
		_, err := read(ctx, i)
		var outage *authz.UnavailableError
		if !errors.As(err, &outage) || time.Since(began) > 30*time.Second {
			t.Errorf("%s: %v after %s", name, err, time.Since(began))
		}
		if name == "cancelled" && !errors.Is(err, context.Canceled) {
			t.Errorf("%v is no cancellation", err)
		}
	}
}

func TestAReaderThatStops(t *testing.T) {
	i := opened(t, options(t, small(t, slapdtest.Options{})))
	seen := 0
	for _, err := range i.Import(t.Context(), directory.Request{}) {
		if err != nil {
			t.Fatal(err)
		}
		if seen++; seen == 2 {
			break
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var failed error
	for _, err := range i.Import(ctx, directory.Request{}) {
		cancel()
		failed = err
	}
	if !errors.Is(failed, context.Canceled) {
		t.Errorf("a reading went on after its context: %v", failed)
	}
	i.Close()
	if _, err := read(t.Context(), i); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a closed importer reads: %v", err)
	}
}

// A server that sends without end is cut off.
func TestAnswersAreBounded(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = conn.Read(make([]byte, 1024))
		// One message that says it is 2 GB long.
		_, _ = conn.Write([]byte{0x30, 0x84, 0x7f, 0xff, 0xff, 0xf0, 0x04, 0x84, 0x7f, 0xff, 0xff, 0x00})
		for chunk := make([]byte, 1<<20); ; {
			if _, err := conn.Write(chunk); err != nil {
				return
			}
		}
	}()
	o, err := ldap.Defaults(ldap.SchemaRFC2307bis)
	if err != nil {
		t.Fatal(err)
	}
	o.UserBase = peopleBase
	unavailable(t, plaintext(o, fmt.Sprintf("ldap://%s", l.Addr())), "64 MiB")
}
