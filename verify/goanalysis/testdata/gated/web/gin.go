package web

import "github.com/gin-gonic/gin"

type ginAuth struct{}

func (ginAuth) RequireUser(c *gin.Context)              {}
func (ginAuth) RequireRole(role string) gin.HandlerFunc { return func(c *gin.Context) {} }

func list(c *gin.Context)   {}
func change(c *gin.Context) {}

var strict bool

func Gin() *gin.Engine {
	var auth ginAuth
	g := gin.New()
	docs := g.Group("/docs", auth.RequireUser)
	docs.GET("", list)
	docs.Group("/deep").POST("", change)
	api := g.Group("/api")
	api.Use(auth.RequireUser)
	api.GET("/list", list)
	g.GET("/one", auth.RequireRole("reader"), list)
	return g
}
