// What keeps the demo from starting: a page opened as a file, or an old browser. A plain script, because modules do not load then.
"use strict";
(() => {
  const show = (message) => {
    const problem = document.getElementById("demo-problem");
    problem.textContent = message;
    problem.hidden = false;
    document.querySelector(".demo-status").hidden = true;
  };
  if (location.protocol === "file:") show("Browsers do not load the parser from a file. Serve the site: python -m http.server --directory build/site/html");
  else if (typeof WebAssembly === "undefined" || typeof DecompressionStream === "undefined") show("The demo needs a browser from 2023 or later.");
})();
