package slapdtest

import (
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"github.com/go-ldap/ldap/v3"
)

// Attribute is one attribute of an entry with its values.
type Attribute struct {
	Name   string
	Values []string
}

// A makes an attribute; one without values is left out of the entry.
func A(name string, values ...string) Attribute { return Attribute{name, values} }

// Write writes an entry as LDIF, every value in base64.
func Write(w io.Writer, dn string, attributes ...Attribute) {
	fmt.Fprintf(w, "dn:: %s\n", base64.StdEncoding.EncodeToString([]byte(dn)))
	for _, a := range attributes {
		for _, v := range a.Values {
			fmt.Fprintf(w, "%s:: %s\n", a.Name, base64.StdEncoding.EncodeToString([]byte(v)))
		}
	}
	fmt.Fprintln(w)
}

// Root writes the directory's root and the units below it.
func Root(w io.Writer, units ...string) {
	Write(w, Suffix, A("objectClass", "dcObject", "organization"), A("dc", "example"), A("o", "Example"))
	for _, unit := range units {
		Write(w, "ou="+unit+","+Suffix, A("objectClass", "organizationalUnit"), A("ou", unit))
	}
}

// DN joins one relative name and what is above it; what needs an escape gets one.
func DN(attribute, value, above string) string {
	return attribute + "=" + ldap.EscapeDN(value) + "," + strings.TrimSpace(above)
}
