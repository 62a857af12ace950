package acme

// The scope types of the catalog.
const (
	typeFolder  = "docs.folder"
	typeDoc     = "docs.doc"
	typeAccount = "billing.account"
	typeInvoice = "billing.invoice"
)

// scopeType is one row of the catalog's scope types; a parent of "" is none.
type scopeType struct{ name, parent, description string }

var scopeTypes = []scopeType{
	{typeFolder, typeFolder, "A folder; folders nest in folders."},
	{typeDoc, typeFolder, "A document in a folder."},
	{typeAccount, "", "A customer's billing account."},
	{typeInvoice, typeAccount, "An invoice of a billing account."},
}

// marks are what a leaf declares beside its scopes.
type marks uint8

const (
	implied     marks = 1 << iota // impliedOnAncestors
	conditional                   // requiresCondition: no wire check can ask it
	destructive                   // declared, where the name does not say so
)

// leaf is one permission, named by the last segment of its key. Nil scopes are
// those of its block.
type leaf struct {
	name, does string
	marks      marks
	scopes     []string
}

// block is a group of permissions. Empty scopes make it global only.
type block struct {
	path, label, description string
	scopes                   []string
	leaves                   []leaf
}

// permission is a leaf as the walk reads it: with its key and the scopes it
// ends up with.
type permission struct {
	key    string
	block  string
	scopes []string
	marks  marks
}

// permissions flattens the tables in declaration order. They are the one source
// of catalog.yaml and of the leaf facts behind the expected answers.
func permissions() []permission {
	var all []permission
	for _, b := range blocks() {
		for _, l := range b.leaves {
			scopes := l.scopes
			if scopes == nil {
				scopes = b.scopes
			}
			all = append(all, permission{key: b.path + "." + l.name, block: b.path, scopes: scopes, marks: l.marks})
		}
	}
	return all
}

func blocks() []block { return append(docsBlocks(), billingBlocks()...) }
