package ldap

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/authzhost/authz/plugins/internal/dn"
)

// A member is whoever has an equal name, as for every importer.
func TestMembersAreFoundByEqualNames(t *testing.T) {
	spellings := rapid.SampledFrom([]string{`cn=Änn  Lee+uid=ann,ou=x`, `UID=ann + commonName=änn lee , 2.5.4.11=X`, `cn=\c3\84nn lee+userid=ANN,ou=x`, `cn=änn lee,ou=x`,
		`cn=a\,b,ou=x`, `CN=A\2cB,OU=X`, `cn=a\, b,ou=x`, `cn=k,ou=x`, "cn=\u212a,ou=X", `cn=k,ou=x#'01'B`})
	rapid.Check(t, func(t *rapid.T) {
		name, other := spellings.Draw(t, "name"), spellings.Draw(t, "other")
		key, _ := dn.Key(name)
		otherKey, _ := dn.Key(other)
		r := &reading{o: Options{MemberKind: MemberDN}, people: []person{{id: "ann"}}, byDN: map[string]int{key: 0}, groups: []group{{id: "g"}}, groupsOf: map[string]map[string]bool{}}
		for _, member := range []string{other, ""} {
			if err := r.member(0, []byte(member)); err != nil {
				t.Fatal(err)
			}
		}
		if found := r.groupsOf["ann"]["g"]; found != (key == otherKey) || found == (len(r.pending) == 1) {
			t.Fatalf("%q is a member by the name %q: %t, %d left", name, other, found, len(r.pending))
		}
	})
}
