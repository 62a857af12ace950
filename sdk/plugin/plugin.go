package plugin

import (
	"context"
	"slices"

	goplugin "github.com/hashicorp/go-plugin"

	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/storage"
)

// BinaryPrefix begins the file name of every plugin: authz-plugin-<name>.
const BinaryPrefix = "authz-plugin-"

// ProtocolVersion is the newest version of the wire that this SDK speaks. A host and a
// plugin need one in common; version 1 was that of SDKs before typed operations.
const ProtocolVersion = 2

// The kinds of plugins.
const (
	KindStorage  = "storage"            // a storage driver
	KindSink     = "metrics_sink"       // a metrics sink
	KindImporter = "directory_importer" // a directory importer
)

// Handshake tells a plugin that it was started by a host. It is no security
// measure: mutual TLS is.
var Handshake = goplugin.HandshakeConfig{
	MagicCookieKey:   "AUTHZ_PLUGIN",
	MagicCookieValue: "5b7c0a6d-authz-plugin",
}

// Plugin is what a binary serves: the kinds whose Configure is set, at least one.
// ConfigSchema lists every setting that its configuration may hold; nil means none.
// A plugin of several kinds has one configuration, which each of them is given.
type Plugin struct {
	Name         string // the <name> of authz-plugin-<name>
	Version      string // "" is the version of the binary's main module
	Storage      StorageKind
	Sink         SinkKind
	Importer     ImporterKind
	ConfigSchema []Setting

	// Check judges settings that passed the schema, as every Configure does before
	// it touches anything outside the process. Hosts ask it before they start with a
	// configuration: it opens no file for writing and makes no connection, may be
	// called at any time, and refuses as Configure does. nil: the schema says all.
	Check func(config map[string]any) error
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

// SinkKind serves a metrics sink. Capabilities and Configure are as those of
// StorageKind.
type SinkKind struct {
	Capabilities []metrics.SinkCapability
	Configure    func(ctx context.Context, config map[string]any) (metrics.Sink, error)
}

// ImporterKind serves a directory importer. Capabilities and Configure are as those
// of StorageKind.
type ImporterKind struct {
	Capabilities []directory.ImporterCapability
	Configure    func(ctx context.Context, config map[string]any) (directory.Importer, error)
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

// Serves reports whether the plugin serves a kind.
func (d Description) Serves(kind string) bool {
	return slices.ContainsFunc(d.Kinds, func(k Kind) bool { return k.Name == kind })
}

// Kind is one role of a plugin.
type Kind struct {
	Name         string
	Capabilities []string
}

// kinds are those that the binary serves.
func (p Plugin) kinds() []Kind {
	var out []Kind
	if p.Storage.Configure != nil {
		out = append(out, Kind{KindStorage, namesOf(p.Storage.Capabilities)})
	}
	if p.Sink.Configure != nil {
		out = append(out, Kind{KindSink, namesOf(p.Sink.Capabilities)})
	}
	if p.Importer.Configure != nil {
		out = append(out, Kind{KindImporter, namesOf(p.Importer.Capabilities)})
	}
	return out
}

// Kinds lists the kinds of plugins that this SDK knows.
func Kinds() []string { return []string{KindStorage, KindSink, KindImporter} }

func namesOf[T ~string](list []T) []string {
	return mapRows(list, func(v T) string { return string(v) })
}

func named[T ~string](list []string) []T {
	return mapRows(list, func(v string) T { return T(v) })
}
