const express = require("express");
const { requireSession } = require("./session");
const orders = require("./orders");

const app = express();

app.use(express.json());
app.use("/orders", requireSession, orders); // gate: app.use("/orders", orders);

module.exports = app;
