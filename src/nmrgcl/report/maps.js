// The mark under the pointer: its name below the maps, and the same graph made large in all of them.
(() => {
  const said = document.getElementById("pointed-at");
  const marks = document.querySelectorAll("use[data-row]");
  const clear = () => document.querySelectorAll("use.pointed").forEach((mark) => mark.classList.remove("pointed"));
  marks.forEach((mark) => {
    mark.addEventListener("pointerenter", () => {
      clear();
      document.querySelectorAll(`use[data-row="${mark.dataset.row}"]`).forEach((same) => same.classList.add("pointed"));
      said.textContent = mark.textContent;
    });
  });
})();
