// node exports.mjs MODULE JOB: probabilities or numbers of all rows, and microseconds a row
import fs from "node:fs";
import {pathToFileURL} from "node:url";

const {load} = await import(pathToFileURL(process.argv[2]));
const {description, rows} = JSON.parse(fs.readFileSync(process.argv[3], "utf8"));
const model = load(description);
const predict = (row) => (model.classes ? Object.values(model.predictProba(row)) : [model.predict(row)]);
for (const row of rows.slice(0, 200)) predict(row);
const start = performance.now();
const found = rows.map(predict);
const microseconds = (1000 * (performance.now() - start)) / rows.length;
process.stdout.write(JSON.stringify({found, microseconds}));
