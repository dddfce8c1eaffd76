// Start everything.

document.documentElement.classList.add("js");
startThreshold();
startTable();
startDetail();
startWhatIf();
// For the console: the model by itself, for rows of values of the inputs.
window.neuralrules = Object.freeze({ encode, decide, fullText });
document.documentElement.dataset.ready = "true";
