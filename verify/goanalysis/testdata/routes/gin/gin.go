// Package gin is a service over gin.
package gin

import "github.com/gin-gonic/gin"

type auth struct{}

func (auth) RequireUser(c *gin.Context)              {}
func (auth) RequireRole(role string) gin.HandlerFunc { return func(c *gin.Context) {} }
func can(c *gin.Context, key string) bool            { return false }

type api struct{}

func (api) list(c *gin.Context)   {}
func (api) create(c *gin.Context) {}
func (api) asks(c *gin.Context) {
	if !can(c, "docs.files.read") {
		c.AbortWithStatus(403)
	}
}

// authz-verify-ignore-next-line ungated-action tells the version alone
func version(c *gin.Context) {}

func Engine() *gin.Engine {
	var a api
	var auth auth
	g := gin.Default()
	g.GET("/health", a.list)
	g.GET("/version", version)
	g.GET("/open", a.list) // want `server function "list" \(GET /open\)`
	g.GET("/asks", a.asks)
	g.GET("/each", auth.RequireUser, a.list)
	g.POST("/each", func(c *gin.Context) { c.Next() }, a.create) // want `server function "create"`
	g.Static("/assets", "./assets")                              // want `server function "Static" \(GET /assets\)`

	docs := g.Group("/docs", auth.RequireRole("reader"))
	{
		docs.GET("", a.list)
		docs.Group("/deep").POST("/er", a.create)
	}
	late := g.Group("/late")
	late.GET("/before", a.list) // want `server function "list" \(GET /late/before\)`
	late.Use(auth.RequireUser)
	late.GET("/after", a.list)
	g.Group("/chained").Use(auth.RequireUser).POST("", a.create)
	g.GET("/first", a.list).POST("/second", a.create)    // want `"list" \(GET /first\)` `"create" \(POST /second\)`
	g.Handle("DELETE", "/handled", a.list)               // want `"list" \(DELETE /handled\)`
	g.Match([]string{"GET", "HEAD"}, "/matched", a.list) // want `"list" \(/matched\)`

	chain := []gin.HandlerFunc{auth.RequireUser, a.list}
	g.GET("/spread", chain...)
	return g
}

func engine() *gin.Engine {
	g := gin.New()
	g.GET("/made", api{}.list) // want `"list" \(GET /made\)`
	return g
}

// Late uses a gate after the routes are there.
func Late() {
	g := engine()
	g.Use(auth{}.RequireUser)
	g.POST("/late", api{}.create)
	g.Run()
}
