package authz

default allow := false

allow if {
	granted
	not revoked
}

# The user with all groups it is in, and the scope with all that it lies in.
subjects := graph.reachable(data.groups, {input.user})

scopes := graph.reachable(data.parents, {input.scope})

# Whatever confers the key: the key itself, its area, roles.
conferring := data.conferring[input.key]

granted if {
	some subject in subjects
	some scope, names in data.grants[subject]
	scope in scopes
	some name in names
	conferring[name]
}

revoked if {
	some scope, names in data.revokes[input.user]
	scope in scopes
	some name in names
	conferring[name]
}
