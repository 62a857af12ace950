package file_test

import (
	"strings"
	"testing"

	"github.com/authzhost/authz/plugins/file/file"
)

func TestMistakesInCSV(t *testing.T) {
	const header = "user_id,active,groups\n"
	for _, c := range []struct{ name, content, want string }{
		{"nothing", "", ":1:1: the file is empty"},
		{"nobody", header, ":1:1: there is nobody below the header"},
		{"no header", "ann,true\nbob,true\n", ":1:1: no column is \"user_id\""},
		{"a misspelt id", "userid,active\nann,true\n", `did you mean "userid"?`},
		{"an unknown column", "user_id,activ\nann,true\n", `:1:9: unknown column "activ"; did you mean "active"?`},
		{"a column twice", "user_id,active,active\nann,true,true\n", `:1:16: the column "active" is there twice`},
		{"a column of groups", "user_id,id\nann,a\n", `:1:9: unknown column "id"`},
		{"too few columns", header + "ann,true,a\nbob,true\n", ":3:1: the row has not as many columns as the header"},
		{"too many columns", header + "ann,true,a,b\n", ":2:1: the row has not as many columns"},
		{"a quote never closed", header + "ann,true,a\nbob,\"true,a\ncyd,true,a\n", ":3:1: a quote is opened in this row and never closed"},
		{"a quote in the middle", header + "ann,tr\"ue,a\n", ":2:7: a quote in a field that does not begin with one"},
		{"a quote that is not doubled", header + "ann,\"tr\"ue\",a\n", ":2:8: a quote inside a quoted field must be doubled"},
		{"an end in the middle", header + "ann,true,a\nbob,true,de", ":3:12: the last line has no line break: is the file cut off?"},
		{"neither true nor false", header + "ann,maybe,a\n", `:2:5: active is "maybe": it must be true or false`},
		{"no id", header + ",true,a\n", ":2:1: user_id is empty"},
		{"space around an id", header + "ann ,true,a\n", ":2:1: user_id has space at its ends"},
		{"an id of 1,025 bytes", header + strings.Repeat("x", 1025) + ",true,a\n", ":2:1: user_id is longer than 1024 bytes"},
		{"a list with a hole", header + "ann,true,a;;b\n", ":2:10: a member of groups is empty"},
		{"another encoding", header + "ann,true,caf\xe9\n", ":2:13: this is not UTF-8"},
		{"UTF-16", "\xff\xfeu\x00s\x00", ":1:1: the file is UTF-16"},
		{"a zero byte", header + "an\x00n,true,a\n", ":2:3: U+0000"},
		{"a group's name of 2,000 bytes", "id,name\na," + strings.Repeat("x", 2000) + "\n", ":2:3: name is longer than 1024 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fails(t, at(write(t, t.TempDir(), "people.csv", c.content)), true, "people.csv", c.want)
		})
	}
}

func TestMistakesInJSON(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"nothing", "", ":1:1: the file ends in the middle"},
		{"null", "null", "the snapshot is null"},
		{"no object", "[]", ":1:2: the snapshot must be an object"},
		{"no dataset", "{}", "the snapshot holds none of groups"},
		{"only null", `{"users": null}`, "the snapshot holds none of groups"},
		{"an unknown member", "{\n  \"user\": []}", `:2:9: the snapshot has no member "user"; did you mean "users"?`},
		{"another case", `{"Users": []}`, `did you mean "users"?`},
		{"a member twice", `{"users": [], "users": []}`, "twice"},
		{"an unknown member of a user", `{"users":[{"userId":"a","enabled":true}]}`, `a user has no member "enabled"`},
		{"a user without id", `{"users":[{"active":true}]}`, "a user without userId"},
		{"a null user", `{"users":[null]}`, "a user without userId"},
		{"a group without id", `{"groups":[{"name":"A"}]}`, "a group without id"},
		{"active that is text", `{"users":[{"userId":"a","active":"true"}]}`, "active must be true or false"},
		{"an id that is a number", `{"users":[{"userId":7}]}`, "userId must be text"},
		{"an empty id", `{"memberships":{"a":[""]}}`, "a group is empty"},
		{"an empty user id", `{"memberships":{"":["a"]}}`, "a user id of memberships is empty"},
		{"space around an id", `{"reportingEdges":{"a":" b"}}`, "a manager has space at its ends"},
		{"a list that is null", `{"orgs":{"a":null}}`, "a list must not be null"},
		{"a list that is text", `{"orgs":{"a":"b"}}`, "must be a list"},
		{"a manager that is null", `{"reportingEdges":{"a":null}}`, "a manager must be text"},
		{"an end in the middle", `{"users":[{"userId":"a"},`, ":1:26: the file ends in the middle"},
		{"an end in a text", `{"users":[{"userId":"a`, "the file ends in the middle"},
		{"a comma too many", "{\"users\":[\n{\"userId\":\"a\"},]}", ":2:"},
		{"more than a snapshot", `{"users":[]}{}`, "the file goes on after the snapshot"},
		{"rubbish after it", `{"users":[]}!`, "this is not JSON"},
		{"half a character", `{"users":[{"userId":"a\ud800"}]}`, "half of a surrogate pair"},
		{"half a character beside a replaced one", `{"users":[{"userId":"\ufffd\ud800"}]}`, "half of a surrogate pair"},
		{"half a character behind what looks like a replaced one", `{"users":[{"userId":"\\ufffd\ud800"}]}`, "half of a surrogate pair"},
		{"the second half alone", `{"memberships":{"\udc00":[]}}`, "half of a surrogate pair"},
		{"two first halves", `{"memberships":{"a":["\ud800\ud800\udc00"]}}`, "half of a surrogate pair"},
		{"a zero character", `{"users":[{"userId":"a\u0000"}]}`, "U+0000"},
		{"lists without end", `{"users":` + strings.Repeat("[", 100_000), "must be an object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fails(t, at(write(t, t.TempDir(), "people.json", c.content)), true, "people.json", c.want)
		})
	}
}

func TestMistakesInLDIF(t *testing.T) {
	const ann = "dn: uid=ann,dc=x\nobjectClass: inetOrgPerson\nuid: ann\n"
	for _, c := range []struct{ name, content, want string }{
		{"nothing", "", ":1:1: there is no entry"},
		{"a comment alone", "# none\n", "there is no entry"},
		{"another version", "version: 2\n\n" + ann, ":1:9: only version 1 of LDIF is known"},
		{"no dn", "uid: ann\n", ":1:1: an entry begins with its dn"},
		{"a dn alone", "dn: uid=ann,dc=x\n\n", ":1:1: the entry has no attribute"},
		{"two entries without a gap", ann + ann, ":4:1: a second dn"},
		{"the same entry twice", ann + "\ndn: UID=Ann, DC=X\nobjectClass: inetOrgPerson\nuid: other\n", "is there twice, first at"},
		{"no name", "dn: ann\nuid: ann\n", ":1:1: \"ann\" is no distinguished name"},
		{"no colon", ann + "mail ann\n", ":4:1: no colon"},
		{"no attribute's name", ann + "m@il: ann\n", ":4:2: this is no name of an attribute"},
		{"no base64", ann + "mail:: YW5u!A==\n", ":4:12: this is not base64"},
		{"base64 that is cut", ann + "mail:: YW5\n", ":4:"},
		{"a fold of base64 that is none", ann + "mail:: YW5u\n YW5!\n", ":5:5: this is not base64"},
		{"a fold of nothing", " x\n" + ann, ":1:1: a line that begins with a space continues none"},
		{"a fold after a gap", ann + "\n x\n", ":5:1: a line that begins with a space continues none"},
		{"another encoding", ann + "cn: caf\xe9\n", ":4:8: this is not UTF-8"},
		{"an end in the middle", ann + "mail: an", ":4:9: the last line has no line break"},
		{"a URL", ann + "jpegPhoto:< file:///etc/passwd\n", ":4:11: values are not fetched"},
		{"changes", "dn: uid=ann,dc=x\nchangetype: delete\n", ":2:1: this is a list of changes"},
		{"a change's end", ann + "-\n", ":4:1: this is a list of changes"},
		{"a person without the id", "dn: cn=ann,dc=x\nobjectClass: inetOrgPerson\ncn: ann\n", `"cn=ann,dc=x" has no uid (user_id)`},
		{"a person of two ids", ann + "uid: anna\nuid: anne\n", ""},
		{"a person of two ids, one in the name by another name", "dn: userid=ann,dc=x\nobjectClass: inetOrgPerson\nuid: anna\nuid: ann\n", ""},
		{"the same entry twice, in another order", "dn: cn=a+uid=ann,dc=x\nobjectClass: inetOrgPerson\nuid: ann\n\ndn: uid=ann+cn=a,dc=x\nobjectClass: inetOrgPerson\nuid: b\n", "is there twice"},
		{"a person of two ids, none in the name", "dn: cn=ann,dc=x\nobjectClass: inetOrgPerson\nuid: a\nuid: b\n", "has several values of uid"},
		{"an id that is no text", "dn: cn=ann,dc=x\nobjectClass: inetOrgPerson\nuid:: /+8=\n", ":3:1: uid of \"cn=ann,dc=x\" is not text"},
		{"no people", "dn: cn=ann,dc=x\nobjectClass: device\ncn: ann\n", "(user_classes)"},
		{"a person that is a group", ann + "objectClass: groupOfNames\n", "is a person and a group"},
		{"a list of which Active Directory told a part", ann + "\ndn: cn=g\nobjectClass: group\ncn: g\nmember;Range=0-1499: uid=ann,dc=x\n", ":8:13: this is no name of an attribute"},
		{"two managers", ann + "manager: uid=a,dc=x\nmanager: uid=b,dc=x\n", "has more than one manager"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := at(write(t, t.TempDir(), "people.ldif", c.content))
			if c.want == "" {
				if got, err := read(t.Context(), open(t, o)); err != nil || got.Users[0].UserID != "ann" {
					t.Errorf("%+v, %v", got.Users, err)
				}
				return
			}
			fails(t, o, true, "people.ldif", c.want)
		})
	}
	for setting, change := range map[string]func(*file.Options){
		"user_orgs":             func(o *file.Options) { o.Orgs = []string{"departmentNumber"} },
		"user_active_attribute": func(o *file.Options) { o.Active, o.ActiveValues = "status", []string{"here"} },
	} {
		t.Run(setting+" that nobody has", func(t *testing.T) {
			o := at(write(t, t.TempDir(), "people.ldif", ann))
			change(&o)
			fails(t, o, true, "none of the people has the attribute", setting)
		})
	}
}
