// Whether kin-openapi, which most Go tools stand on, takes the document.
package main

import (
	"context"
	"log"
	"os"

	"github.com/getkin/kin-openapi/openapi3"
)

func main() {
	document, err := openapi3.NewLoader().LoadFromFile(os.Args[1])
	if err == nil {
		err = document.Validate(context.Background())
	}
	if err != nil {
		log.Fatal(err)
	}
}
