package pluginhost

// SocketDir shows tests where a host keeps its sockets.
func SocketDir(h *Host) string { return h.sockets.dir }
