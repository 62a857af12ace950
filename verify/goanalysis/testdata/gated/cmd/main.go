// Command cmd serves what package web makes.
package main

import (
	"net/http"

	"example.com/gated/rpc"
	"example.com/gated/web"
)

func main() {
	go web.Mux()
	go web.All()
	go http.ListenAndServe(":2", web.Chi())
	go web.Gin().Run(":3")
	e := web.Echo()
	go e.Start(":4")
	go web.EchoAll().Start(":5")
	rpc.Serve()
}
