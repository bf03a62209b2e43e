// The quick start over HTTP. `api.d.ts` is generated from the server's OpenAPI: npm run generate.
import createClient from "openapi-fetch";
import type { paths } from "./api.js";

const client = createClient<paths>({
  baseUrl: process.env["MEMSCOPE_URL"] ?? "http://127.0.0.1:8710",
  headers: { Authorization: `Bearer ${process.env["MEMSCOPE_TOKEN"]}` },
});
const path = { user: "alice" };

const added = await client.POST("/api/v1/users/{user}/turns", {
  params: { path },
  body: { turns: [{ role: "user", content: "I moved to Berlin last May." }] },
});
if (added.error) throw new Error(`${added.error.code}: ${added.error.detail}`);

const asked = await client.POST("/api/v1/users/{user}/context", {
  params: { path },
  body: { query: "Where does Alice live?" },
});
if (asked.error) throw new Error(`${asked.error.code}: ${asked.error.detail}`);
console.log(asked.data.text);

const foreign = await client.GET("/api/v1/users/{user}/records", { params: { path: { user: "bob" } } });
console.log(foreign.error?.code);
