// Package pluginhost runs plugin processes: it finds their binaries, verifies
// their checksums, starts them, describes and configures them, starts them again
// when they crash or no longer answer, and leaves nothing behind when it stops.
// Plugins that the host's own binary carries are told to it as commands; it does
// not know which they are.
//
// It is one of the two packages that know go-plugin and gRPC; what a plugin
// serves reaches the rest of the host as the interfaces of the SDK. It never
// interprets what a plugin stores and never passes it anything of the host's
// environment.
package pluginhost
