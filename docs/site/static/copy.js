// A button that copies an example: of a Python session the code without prompts and output, of a console the commands.
"use strict";
const commands = (text) => {
  const lines = text.replace(/\n$/, "").split("\n");
  if (lines.some((line) => /^>>> /.test(line))) {
    return lines.filter((line) => /^(>>>|\.\.\.)( |$)/.test(line)).map((line) => line.slice(4)).join("\n") + "\n";
  }
  if (lines.some((line) => /^\$ /.test(line))) {
    return lines.filter((line) => /^\$ /.test(line)).map((line) => line.slice(2)).join("\n") + "\n";
  }
  return text;
};
document.addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll("div.highlight")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(commands(block.querySelector("pre").textContent));
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    block.append(button);
  }
});
