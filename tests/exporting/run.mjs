// node run.mjs MODULE JOBS: the answers of each description to its rows, or its errors, as JSON
import fs from "node:fs";
import {pathToFileURL} from "node:url";

const {load} = await import(pathToFileURL(process.argv[2]));
const jobs = JSON.parse(fs.readFileSync(process.argv[3], "utf8"));
const found = jobs.map(({description, rows, explain}) => {
  const model = load(description);
  return rows.map((row) => {
    try {
      if (explain) return model.explain(row);
      const {prediction, probabilities, viewScores} = model.answer(row);
      return {prediction, probabilities, view_scores: viewScores};
    } catch (error) {
      return {error: error.message};
    }
  });
});
process.stdout.write(JSON.stringify(found));
