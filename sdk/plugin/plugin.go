package plugin

import (
	"context"
	"slices"

	goplugin "github.com/hashicorp/go-plugin"

	"github.com/authzhost/authz/sdk/storage"
)

// BinaryPrefix begins the file name of every plugin: authz-plugin-<name>.
const BinaryPrefix = "authz-plugin-"

// ProtocolVersion is the newest version of the wire that this SDK speaks.
const ProtocolVersion = 1

// KindStorage is the kind of plugins that serve a storage driver.
const KindStorage = "storage"

// Handshake tells a plugin that it was started by a host. It is no security
// measure: mutual TLS is.
var Handshake = goplugin.HandshakeConfig{
	MagicCookieKey:   "AUTHZ_PLUGIN",
	MagicCookieValue: "5b7c0a6d-authz-plugin",
}

// Plugin is what a binary serves. ConfigSchema lists every setting that its
// configuration may hold; nil means none.
type Plugin struct {
	Name         string // the <name> of authz-plugin-<name>
	Version      string // "" is the version of the binary's main module
	Storage      StorageKind
	ConfigSchema []Setting
}

// StorageKind serves a storage driver.
type StorageKind struct {
	// Capabilities are those that a store has unless its configuration leaves
	// one out; the store's own Info decides.
	Capabilities storage.Capabilities

	// Configure opens the driver; ctx ends with the call. config holds the settings, checked against the
	// schema, under their Go types (SettingType). It is called at most once
	// successfully. An error's text is shown to the operator: no secrets in it;
	// a *ConfigError names the setting at fault.
	Configure func(ctx context.Context, config map[string]any) (storage.Driver, error)
}

// Description is what a plugin says of itself before it is configured.
type Description struct {
	Name     string
	Version  string
	Kinds    []Kind
	Settings []Setting
}

// Declares reports whether the plugin has a setting of that name and type.
func (d Description) Declares(name string, t SettingType) bool {
	return slices.ContainsFunc(d.Settings, func(s Setting) bool { return s.Name == name && s.Type == t })
}

// Kind is one role of a plugin.
type Kind struct {
	Name         string
	Capabilities []string
}
