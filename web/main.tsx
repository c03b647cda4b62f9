/** Starts the page: the service that it came from, and what its address asks for. */
import { render } from "preact";
import { Client } from "./api/client";
import { App } from "./shell/app";
import { credential } from "./shell/credential";
import { pinBase } from "./shell/router";
import "./shell/tokens.css";
import "./shell/base.css";

const root = pinBase();
const client = new Client(new URL("api/v1/", root), () => credential.value);
const place = document.getElementById("root");
if (place) render(<App client={client} />, place);
